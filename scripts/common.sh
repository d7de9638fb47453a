# What the scripts here share; they source it from the root of the clone.

# The first Python of 3.11 or newer that runs and can make environments.
find_python() {
    for candidate in "${PYTHON:-python3}" python3.13 python3.12 python3.11 python3.14 python; do
        if "$candidate" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            command -v "$candidate"
            return
        fi
    done
    echo "warpgrade needs Python 3.11 or newer, with venv (on Debian and Ubuntu: the package python3-venv)." >&2
    echo "Install one, or name one: PYTHON=/path/to/python3 $0" >&2
    exit 4
}

# Put the environment of scripts/setup first on PATH; make it where there is none. An active one of your own that has
# warpgrade in it is kept.
use_environment() {
    if [ -z "${VIRTUAL_ENV:-}" ] || ! python -I -c 'import grader' 2>/dev/null; then
        scripts/setup
        VIRTUAL_ENV=$PWD/.venv
        PATH=$VIRTUAL_ENV/bin:$PATH
        export VIRTUAL_ENV PATH
    fi
}
