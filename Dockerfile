# syntax=docker/dockerfile:1
# The service alone on a slim Debian: no compiler, no shell needed, no root, nothing written.
#
#   docker build -t diffserver .
#   docker run --rm --read-only --cap-drop all -p 127.0.0.1:8080:8080 diffserver
#   docker run --rm --read-only --cap-drop all -p 127.0.0.1:8080:8080 -v lists:/data diffserver serve --store sqlite:/data/sessions.db
#
# The target slim is the same without libcurl, and so without LDAP, Kerberos and SSH, for a server without --lists:
#
#   docker build --target slim -t diffserver:slim .
#
# In a container the server listens on every address, so it needs a key: in --key-file, a file of a mounted directory, or
# the one that it prints at the start. It reads changed files by itself; `docker kill --signal HUP` has it do so at once.

ARG SWIFT_IMAGE=docker.io/library/swift:6.3.1-bookworm
ARG BASE_IMAGE=docker.io/library/debian:13.2-slim
ARG VERSION=0.2.0
ARG REVISION=unknown

FROM ${SWIFT_IMAGE} AS build
RUN apt-get update \
    && apt-get install -y --no-install-recommends libssl-dev libsqlite3-dev libcurl4-openssl-dev zlib1g-dev pkg-config \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY Package.swift ./
COPY .ci/build .ci/function-order .ci/
COPY Sources Sources
# The server carries its files.
COPY Clients/js Clients/js
# The manifest names the tests, so they must exist. Their own files are not sent: a change in them would rebuild
# everything.
RUN for tests in SnapshotKitTests DiffClientTests HTTPCoreTests \
        DiffServerTests/Sessions DiffServerTests/Stores DiffServerTests/Redis DiffServerTests/Service \
        DiffServerTests/Upstream DiffServerTests/Command; do \
        mkdir -p Tests/$tests && touch Tests/$tests/None.swift; \
    done
# The build stays in a cache of the machine, so that a change rebuilds only what it touches.
RUN --mount=type=cache,id=diffserver-build,target=/source/.build,sharing=locked \
    .ci/build diffserver -Xlinker -s \
    && cp "$(swift build -c release --show-bin-path)/diffserver" /usr/local/bin/diffserver

FROM ${BASE_IMAGE} AS base
# Fixes since that image was made come with the upgrade.
RUN apt-get update \
    && apt-get upgrade -y \
    && apt-get install -y --no-install-recommends libssl3t64 libsqlite3-0 zlib1g ca-certificates \
    && rm -rf /var/lib/apt/lists/* /var/cache/apt /var/log/apt /var/log/dpkg.log
# For --store sqlite:/data/sessions.db. A named volume mounted here takes over its owner.
RUN install -d -m 700 -o 65532 -g 65532 /data
USER 65532:65532
ENV DIFFSERVER_LISTEN=:8080
EXPOSE 8080
STOPSIGNAL SIGTERM
# It finds the server by the options of the container's first process and by the container's variables. Podman keeps it
# only with --format docker.
HEALTHCHECK --interval=10s --timeout=3s --start-period=2s --retries=3 CMD ["/usr/local/bin/diffserver", "healthcheck"]
ENTRYPOINT ["/usr/local/bin/diffserver"]
CMD ["serve"]
LABEL org.opencontainers.image.title="diffserver" \
      org.opencontainers.image.description="The fewest operations between two states of a list, over HTTP"

FROM base AS slim
COPY --from=build /usr/local/bin/diffserver /usr/local/bin/diffserver
# Last, since each commit has another revision.
ARG VERSION
ARG REVISION
LABEL org.opencontainers.image.version="${VERSION}" org.opencontainers.image.revision="${REVISION}"

FROM base
USER root
RUN apt-get update \
    && apt-get install -y --no-install-recommends libcurl4t64 \
    && rm -rf /var/lib/apt/lists/* /var/cache/apt /var/log/apt /var/log/dpkg.log
USER 65532:65532
COPY --from=build /usr/local/bin/diffserver /usr/local/bin/diffserver
ARG VERSION
ARG REVISION
LABEL org.opencontainers.image.version="${VERSION}" org.opencontainers.image.revision="${REVISION}"
