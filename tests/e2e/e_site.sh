#!/bin/sh
# What a site installs: `make install` puts the job scripts where the installed program finds them,
# an ordinary user trains with it and leaves nothing in his home, and the module file and the
# recipes can be read and name this version.
. "${srcdir:?}/tests/lib/lib.sh"
. "$srcdir/tests/lib/data.sh"
site=$srcdir/jobs/site
version=$(sed -n 's/^AC_INIT(\[heterps\], \[\(.*\)\])/\1/p' "$srcdir/configure.ac")
[ -n "$version" ] || fail 'configure.ac names no version'

# from elsewhere, as it would lie after make install
mkdir -p root/bin root/share/heterps
cp "$HETERPS" root/bin/heterps
cp -r "$srcdir/jobs" root/share/heterps
expect 0 '' env -u HETERPS_DATADIR root/bin/heterps --datadir
[ "$(cat out)" = "$PWD/root/share/heterps" ] || fail "not beside the program: $(cat out)"
for f in "$srcdir"/jobs/*.sh; do
    bash -n "$f" || fail "$f is no shell script"
    grep -q "jobs/${f##*/}" "$srcdir/Makefile.am" || fail "$f is not installed"
done

echo '-- an ordinary user, whose home cannot be written'
mkdir home user
census
cp "$srcdir/inputs/census.yaml" user
mv data user
chmod 555 home
as_user=
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
    as_user='setpriv --reuid 65534 --regid 65534 --clear-groups'
    chmod 711 .
    chown -R 65534 user
    # where the folder of the tests is root's alone, root it is
    $as_user test -w "$PWD/user" || as_user=
fi
cd user || exit 99
# shellcheck disable=SC2086 # the flags are several words
expect 0 '' $as_user env -u HETERPS_DATADIR HOME="$HPS_TMP/home" TMPDIR="$PWD" \
    "$MPIEXEC" $MPIEXEC_FLAGS -n 2 "$HPS_TMP/root/bin/heterps" train census.yaml \
    --set train.epochs=0 --set train.steps=20
cd ..
[ "$(number user/runs/census/status.json exit_code)" = 0 ] || fail 'the run of a user is not done'
[ -z "$(ls -A home)" ] || fail "left in the home: $(ls -A home)"

echo '-- the module file'
grep -q "^set version $version\$" "$site/heterps.tcl" || fail 'the module file: another version'
if command -v tclsh >/dev/null; then
    # what the module commands do, each of them once
    cat >module.tcl <<'EOF'
foreach c {module-whatis conflict} { proc $c {args} {} }
proc prepend-path {name dir} { puts "$name=$dir" }
proc setenv {name value} { puts "$name=$value" }
source [lindex $argv 0]
EOF
    expect 0 '' tclsh module.tcl "$site/heterps.tcl"
    shows "^PATH=/opt/heterps/$version/bin\$"
    shows "^HETERPS_DATADIR=/opt/heterps/$version/share/heterps\$"
else
    echo 'no tclsh: the module file was not run'
fi

echo '-- the recipes'
cp "$site/package.py" "$site/heterps.eb" .
expect 0 '' /usr/bin/python3 -c 'import sys
for f in sys.argv[1:]: compile(open(f).read(), f, "exec")' package.py heterps.eb
grep -q "^    version(\"$version\"" package.py || fail 'the Spack recipe: another version'
expect 0 '' /usr/bin/python3 -c 'x = {}
exec(open("heterps.eb").read(), x)
print(x["name"], x["version"], x["sources"])'
shows "^heterps $version "
# every option that a recipe gives is one of configure
"$srcdir/configure" --help >help
for option in $(sed -n 's/^ *("\([a-z]*\)", "[a-z-]*"),$/--with-\1/p' package.py) --with-openmp \
    --with-cuda --with-mpi --with-hdf5; do
    grep -q -e "$option" help || fail "configure has no $option"
done
verdict
