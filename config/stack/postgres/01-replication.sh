#!/bin/sh
# A role for the standby of the profile `pair`, which may come at any time.
set -eu
password=$(cat /run/secrets/replication-password)
psql -v ON_ERROR_STOP=1 -U "$POSTGRES_USER" -d "$POSTGRES_DB" \
    -c "CREATE ROLE standby REPLICATION LOGIN PASSWORD '$password'"
echo 'host replication standby samenet scram-sha-256' >>"$PGDATA/pg_hba.conf"
