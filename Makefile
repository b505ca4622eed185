# What can be done here. Each line is a command that works without make as well.
.PHONY: help sandbox test check doc image stack stack-test

help: ## this list
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

sandbox: ## run the service with simulated partners; nothing else to install
	cargo run -- --sandbox

test: ## all tests, with the servers that they need
	scripts/test

check: ## what must hold before a change is taken
	.ci/run

doc: ## the code's documentation, private items as well
	cargo doc --no-deps --document-private-items

image: ## the container image
	docker build -t order-service --build-arg COMMIT="$$(git rev-parse --short HEAD)" .

stack: ## the whole stack in containers
	docker compose up --build

stack-test: ## the stack on this machine without containers, broken on purpose
	scripts/stack-test
