#!/bin/sh
# Copies the primary once, then follows it.
set -eu
export PGPASSWORD
PGPASSWORD=$(cat /run/secrets/replication-password)
if [ ! -s "$PGDATA/PG_VERSION" ]; then
    pg_basebackup -h postgres -U standby -D "$PGDATA" -R -X stream -C -S standby \
        -d 'application_name=standby'
    chmod 700 "$PGDATA"
fi
exec postgres
