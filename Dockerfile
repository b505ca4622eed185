# The service, and beside it the simulated partners; the command says which of the two runs.
#
#   docker build -t order-service --build-arg COMMIT="$(git rev-parse --short HEAD)" .

FROM rust:1.95-bookworm AS build
WORKDIR /src
COPY Cargo.toml Cargo.lock ./
COPY benches benches
COPY migrations migrations
COPY src src
# shown by app_build_info
ARG COMMIT=unknown
# the caches outlive the layer, so a second build compiles only what has changed
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/src/target \
    BUILD_COMMIT="$COMMIT" BUILD_RUSTC="$(rustc --version)" cargo build --release --locked --bins \
    && install -D -t /out target/release/order-service target/release/partner-sandbox

FROM debian:bookworm-slim
# the HTTP clients verify partners through the system's roots, and do not start without any
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates \
    && rm -rf /var/lib/apt/lists/*
# an embedded database, if one is used, lives in data/ and is worth a volume
RUN install -d -o 65532 -g 65532 /var/lib/order-service/data
COPY --from=build /out/ /usr/local/bin/
WORKDIR /var/lib/order-service
USER 65532:65532
# Reachable from outside, which the service accepts only with AUTH_MODE said openly. The admin
# listener stays on loopback until ADMIN_ADDR and ADMIN_TOKEN are set.
ENV HTTP_ADDR=0.0.0.0:8080
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=5s --start-period=10s --retries=3 CMD ["order-service", "healthcheck"]
CMD ["order-service"]
