# The service, and beside it the simulated partners; the command says which of the two runs.
#
#   docker build -t order-service --build-arg COMMIT="$(git rev-parse --short HEAD)" \
#       --build-arg SOURCE_DATE_EPOCH="$(git log -1 --format=%ct)" .
#   docker build --target debug -t order-service:debug .      # the same with a shell
#
# The last stage holds the two programs, what they link to, the roots of trust and the list of what is inside
# (/usr/share/sbom/order-service.cdx.json), and nothing that could be run beside them. To pin the bases, name
# them by digest: --build-arg RUST_IMAGE=rust@sha256:…

ARG RUST_IMAGE=rust:1.95-bookworm
ARG DEBIAN_IMAGE=debian:bookworm-slim

FROM ${RUST_IMAGE} AS build
WORKDIR /src
# `cargo audit bin` reads from the program itself what it was made of
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    cargo install --locked cargo-auditable@0.7.7 cargo-cyclonedx@0.5.9
COPY Cargo.toml Cargo.lock build.rs ./
COPY benches benches
COPY migrations migrations
COPY src src
# shown by app_build_info and /info
ARG COMMIT=unknown
# nothing in the result depends on the hour or on the folder of the build
ARG SOURCE_DATE_EPOCH=0
# the caches outlive the layer, so a second build compiles only what has changed
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/src/target \
    export SOURCE_DATE_EPOCH BUILD_COMMIT="$COMMIT" \
        RUSTFLAGS="--remap-path-prefix=/src=. --remap-path-prefix=/usr/local/cargo/registry=registry" \
    && cargo auditable build --release --locked --bins \
    && cargo cyclonedx --format json --spec-version 1.5 --override-filename order-service.cdx \
    && install -D -t /out/usr/local/bin target/release/order-service target/release/partner-sandbox \
    && install -D -m 0644 -t /out/usr/share/sbom order-service.cdx.json

# The root of the last stage, put together from Debian's own files.
FROM ${DEBIAN_IMAGE} AS root
SHELL ["/bin/bash", "-o", "pipefail", "-c"]
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build /out/ /rootfs/
ARG SOURCE_DATE_EPOCH=0
# what the loader names, with the loader; users by name; a place for an embedded database, and one for what is temporary
RUN ldd /rootfs/usr/local/bin/* | grep -o '/[^ ]*lib[^ ]*' | sort -u | while read -r library; do \
        install -D "$(readlink -f "$library")" "/rootfs$library"; done \
    && install -D -m 0644 -t /rootfs/etc/ssl/certs /etc/ssl/certs/ca-certificates.crt \
    && printf 'order-service:x:65532:65532::/var/lib/order-service:/nonexistent\n' > /rootfs/etc/passwd \
    && printf 'order-service:x:65532:\n' > /rootfs/etc/group \
    && install -d -o 65532 -g 65532 /rootfs/var/lib/order-service /rootfs/var/lib/order-service/data \
    && install -d -m 1777 /rootfs/tmp \
    && find /rootfs -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +

# For looking round: the same programs on a system with a shell.
FROM ${DEBIAN_IMAGE} AS debug
COPY --from=build /out/ /
COPY --from=root /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=root /rootfs/etc/passwd /rootfs/etc/group /etc/
COPY --from=root /rootfs/var/lib/order-service /var/lib/order-service
WORKDIR /var/lib/order-service
USER 65532:65532
ENV HTTP_ADDR=0.0.0.0:8080
CMD ["order-service"]

FROM scratch AS service
ARG COMMIT=unknown
LABEL org.opencontainers.image.title="order-service" \
      org.opencontainers.image.description="Places orders and has them paid while payment systems fail" \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.revision="${COMMIT}"
COPY --from=root /rootfs/ /
WORKDIR /var/lib/order-service
USER 65532:65532
# Reachable from outside, which the service accepts only with AUTH_MODE said openly. The admin
# listener stays on loopback until ADMIN_ADDR and ADMIN_TOKEN are set.
ENV PATH=/usr/local/bin HTTP_ADDR=0.0.0.0:8080
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=10s --retries=3 CMD ["order-service", "healthcheck"]
CMD ["order-service"]
