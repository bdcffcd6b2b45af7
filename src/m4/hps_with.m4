# HPS_WITH(NAME, PACKAGE, WAYS, INCLUDES, BODY, [LIBS])
# -----------------------------------------------------
# One plain library. PACKAGE is the Debian package of a required library, empty for an optional
# one. WAYS are tried in order until the program of INCLUDES and BODY links:
#   module:M   what pkg-config says of M
#   wrap:W     what the compiler wrapper W shows
#   lib:L      -lL
# and then LIBS behind it. --with-NAME=DIR looks in DIR only. Sets hps_have_NAME (yes, no), defines
# HAVE_NAME to 1 or 0, adds to HPS_CPPFLAGS and HPS_LIBS, notes missing packages in hps_missing.
AC_DEFUN([HPS_WITH], [
AC_ARG_WITH([$1],
    [AS_HELP_STRING([--with-$1@<:@=DIR@:>@], m4_ifval([$2],
        [[required; DIR: where it is installed]], [[optional; default: when it is found]]))],
    [], [with_$1=check])
m4_ifval([$2], [AS_IF([test "x$with_$1" = xno], [AC_MSG_ERROR([heterps cannot do without $1])])])
HPS_TRY([$1], [$3], [$4], [$5], [$6])
AS_IF([test $hps_have_$1 = yes],
    [HPS_CPPFLAGS="$HPS_CPPFLAGS $hps_cppflags"
     HPS_LIBS="$hps_libs $HPS_LIBS"
     hps_value=1],
    [m4_ifval([$2], [hps_missing="$hps_missing $2"],
         [AS_CASE([$with_$1], [no|check], [],
             [AC_MSG_ERROR([--with-$1: $1 does not link; see config.log])])])
     hps_value=0])
AC_DEFINE_UNQUOTED(m4_translit([HAVE_$1], [a-z-], [A-Z_]), [$hps_value], [Whether $1 is used.])
])

# HPS_TRY(NAME, WAYS, INCLUDES, BODY, [LIBS])
# -------------------------------------------
# The search itself: sets hps_have_NAME, hps_how_NAME, hps_cppflags, hps_libs.
AC_DEFUN([HPS_TRY], [
AC_MSG_CHECKING([for $1])
hps_have_$1=no
hps_how_$1=
hps_keep_CPPFLAGS=$CPPFLAGS
hps_keep_LIBS=$LIBS
AS_CASE([$with_$1], [no], [hps_ways=],
    [yes|check], [hps_ways="$2"],
    [hps_ways=
     for hps_way in $2; do
        AS_CASE([$hps_way], [lib:*],
            [AS_IF([test -d "$with_$1/include"], [hps_ways="$hps_ways $hps_way"])])
     done])
for hps_way in $hps_ways; do
    hps_name=`AS_ECHO(["$hps_way"]) | sed 's/^@<:@a-z@:>@*://'`
    hps_cppflags= hps_libs=
    AS_CASE([$hps_way],
    [module:*], [
        test -n "$PKG_CONFIG" && $PKG_CONFIG --exists $hps_name 2>/dev/null || continue
        hps_cppflags=`$PKG_CONFIG --cflags $hps_name`
        hps_libs=`$PKG_CONFIG --libs $hps_name`],
    [wrap:*], [
        hps_show=`$hps_name -show 2>/dev/null` || continue
        for hps_word in $hps_show; do
            AS_CASE([$hps_word],
                [-I*|-D*], [hps_cppflags="$hps_cppflags $hps_word"],
                [-L*|-l*|-Wl,*], [hps_libs="$hps_libs $hps_word"])
        done],
    [lib:*], [
        hps_libs="-l$hps_name"
        AS_CASE([$with_$1], [yes|check], [], [
            hps_cppflags="-I$with_$1/include"
            for hps_dir in "$with_$1/lib64" "$with_$1/lib"; do
                test -d "$hps_dir" && hps_libs="-L$hps_dir -Wl,-rpath,$hps_dir $hps_libs"
            done])])
    hps_libs="$hps_libs $5"
    CPPFLAGS="$hps_keep_CPPFLAGS $hps_cppflags"
    LIBS="$hps_libs $hps_keep_LIBS"
    AC_LINK_IFELSE([AC_LANG_PROGRAM([$3], [$4])], [hps_have_$1=yes])
    test $hps_have_$1 = yes && { hps_how_$1=`AS_ECHO(["$hps_way"]) | tr : ' '`; break; }
done
CPPFLAGS=$hps_keep_CPPFLAGS
LIBS=$hps_keep_LIBS
AC_MSG_RESULT([$hps_have_$1${hps_how_$1:+ ($hps_how_$1)}])
])
