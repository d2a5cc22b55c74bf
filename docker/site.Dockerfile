# A database with a small practice, for compose.yml. DATABASE is an official image of MariaDB or
# MySQL, which loads the dump when it starts for the first time.
ARG DATABASE=mariadb:11.4

FROM --platform=$BUILDPLATFORM golang:1.26 AS dump
WORKDIR /src
COPY . .
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    mkdir /out && CGO_ENABLED=0 go run ./fixtures/dump small > /out/site.sql

FROM $DATABASE
COPY --from=dump /out/site.sql /docker-entrypoint-initdb.d/
