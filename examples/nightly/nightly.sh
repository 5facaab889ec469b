#!/bin/sh
# Looks after a store once a night: upkeep, check, backup, removal of old backups.
#
#     sh nightly.sh BACKUP_FOLDER [BACKUPS_TO_KEEP]
#
# Exit code: 0 all is well, 1 a step failed (standard error says which), 2 wrong usage.
#
# Others may use the store meanwhile. A step that is stopped is no harm: upkeep goes on where it
# stopped in the next night, and a backup gets its name only when it is whole. If a namespace is
# damaged, `verify` and `backup` say so, and no older backup is removed.

set -u
if [ $# -lt 1 ] || [ $# -gt 2 ]; then
    echo "usage: nightly.sh BACKUP_FOLDER [BACKUPS_TO_KEEP]" >&2
    exit 2
fi
code=0

step() {
    echo "== $*"
    if ! "$@"; then
        echo "nightly: failed: $*" >&2
        code=1
    fi
}

step memory-mesh upkeep --all
step memory-mesh verify --all
step memory-mesh backup --to "$1" --keep "${2:-14}"
exit $code
