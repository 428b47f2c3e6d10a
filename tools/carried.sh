# Makes Strop run on a machine on which nothing can be installed from outside: `. tools/carried.sh` in the repository's
# root, beside the wheels that tools/wheels.py gathered. STROP_SITE names the folder that they are unpacked into.
#
# A Python that was installed without byte code compiles torch anew in every process, since no child of Strop writes any:
# three seconds each. So it is compiled once here.
: "${STROP_SITE:=/tmp/strop-site}"
if [ ! -d "$STROP_SITE" ]; then
  python3 -m pip install --quiet --root-user-action=ignore --no-index --no-deps --no-cache-dir --target "$STROP_SITE" wheels/*.whl
  packages=$(python3 -c 'import pathlib, torch; print(pathlib.Path(torch.__file__).parents[1])')
  python3 -m compileall -q -j 0 "$packages"/{torch,triton,sympy,mpmath,networkx} strop "$STROP_SITE" >/dev/null 2>&1 || true
fi
export PYTHONPATH="$STROP_SITE:$PWD${PYTHONPATH:+:$PYTHONPATH}"
