#!/usr/bin/env bash
# Prepares .venv for ./run and ./test: finds a Python, installs the project as it is, compiles the byte code.
# Sourced from the project's own folder; says nothing when there is nothing to do.

venv=.venv
stamps=$venv/.engram # what was installed, for which folder, and when the sources were last compiled

stop() { # WHAT-HAPPENED WHAT-TO-DO...
  printf '%s\n' "$1" >&2
  shift
  printf '  %s\n' "$@" >&2
  exit 1
}

# Prints the command of the first Python that is new enough. A version manager's stand-in may exist
# and still not run, so each candidate is asked.
find_python() {
  local candidate
  for candidate in python3 python3.14 python3.13 python3.12 python3.11 python; do
    if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
      printf '%s\n' "$candidate"
      return
    fi
  done
  stop "Engram needs Python 3.11 or newer, and none was found." \
    "Install one (Debian, Ubuntu: apt install python3 python3-venv; macOS: brew install python) and try again."
}

# The folder of the environment's commands, which Windows names differently.
find_commands() {
  bin=$venv/bin
  if [ -d "$venv/Scripts" ]; then bin=$venv/Scripts; fi
}

make_venv() {
  local python
  python=$(find_python) || exit 1
  printf 'Setting up Engram in %s (once; about a minute) ...\n' "$venv" >&2
  rm -rf "$venv"
  if ! "$python" -m venv "$venv" >/dev/null 2>&1; then
    # Debian's Python lacks the part of venv that brings pip; any pip from 22.3 on can bring itself instead.
    rm -rf "$venv"
    if ! "$python" -m venv --without-pip "$venv" || ! "$python" -m pip --python "$venv" install -qq pip; then
      rm -rf "$venv"
      stop "$python cannot make a virtual environment: it has no complete venv, and no pip to complete it." \
        "Debian, Ubuntu: apt install python3-venv" "Elsewhere: install pip for $python, then try again."
    fi
  fi
  mkdir -p "$stamps"
  printf '%s\n' "$PWD" >"$stamps/place"
}

# Everything that decides what an installation looks like.
wanted_state() { cat pyproject.toml constraints.txt engram/version.py; }

is_installed() { # run | dev
  [ -f "$stamps/$1" ] && wanted_state | cmp -s - "$stamps/$1"
}

install_project() { # run | dev
  local project=.
  if [ "$1" = dev ]; then project='.[dev]'; fi
  "$bin/python" -m pip install -qq --disable-pip-version-check --constraint constraints.txt --editable "$project" ||
    stop "Engram could not be installed into $venv (pip's own words are above)." \
      "The first start needs the Python package index once; after that Engram works offline."
  wanted_state >"$stamps/$1"
  if [ "$1" = dev ]; then wanted_state >"$stamps/run"; fi
}

# With PYTHONDONTWRITEBYTECODE set, Python compiles an editable project anew at each start (over 100 ms);
# compileall writes the byte code all the same.
compile_sources() {
  if [ -f "$stamps/compiled" ] && [ -z "$(find engram tui -name '*.py' -newer "$stamps/compiled" | head -n 1)" ]; then
    return
  fi
  : >"$stamps/compiling"
  if "$bin/python" -m compileall -q engram tui >&2; then mv -f "$stamps/compiling" "$stamps/compiled"; fi
}

# Leaves a ready environment, its commands in $bin. A venv holds its own path, so a moved project gets a new one.
prepare_environment() { # run | dev
  local place=
  if [ -f "$stamps/place" ]; then IFS= read -r place <"$stamps/place" || true; fi
  find_commands
  if [ "$place" != "$PWD" ] || [ ! -x "$bin/python" ]; then
    make_venv
    find_commands
  fi
  if ! is_installed "$1"; then
    printf 'Installing what Engram needs ...\n' >&2
    install_project "$1"
  fi
  compile_sources
}
