# package.py - a recipe for Spack. From the top of the source, in a repository of one's own:
#   spack repo create my-repo && spack repo add my-repo
#   mkdir -p my-repo/packages/heterps && cp jobs/site/package.py my-repo/packages/heterps/
#   spack install heterps                      # of a tarball: make dist, then spack mirror, or
#   spack dev-build -d . heterps@0.1           # of this folder
from spack.package import *

try:  # Spack 1.0 and later have it here
    from spack_repo.builtin.build_systems.autotools import AutotoolsPackage
except ImportError:
    pass


class Heterps(AutotoolsPackage):
    """Trains deep networks that mix huge embedding tables with dense layers, on CPU and GPU nodes
    of a batch cluster at once: a scheduler decides which layer runs on which kind of node."""

    homepage = "https://arxiv.org/abs/2111.10635"

    license("Apache-2.0")

    version("0.1")

    variant("cuda", default=False, description="the GPU backend")
    variant("openmp", default=True, description="threads of a rank")

    depends_on("c", type="build")
    depends_on("autoconf", type="build")
    depends_on("automake", type="build")
    depends_on("pkgconfig", type="build")

    depends_on("openmpi")
    depends_on("hdf5+mpi")
    depends_on("papi")
    depends_on("hwloc")
    depends_on("openblas")
    depends_on("libyaml")
    depends_on("jansson")
    depends_on("zlib-api")
    depends_on("cuda", when="+cuda")
    depends_on("nccl", when="+cuda")

    def autoreconf(self, spec, prefix):
        which("autoreconf")("-i")

    def configure_args(self):
        args = self.with_or_without("openmp")
        args += self.with_or_without("cuda", activation_value="prefix")
        args.append("--with-mpi=" + self.spec["openmpi"].prefix)
        args.append("--with-hdf5=" + self.spec["hdf5"].prefix)
        for name, package in (
            ("papi", "papi"),
            ("hwloc", "hwloc"),
            ("blas", "openblas"),
            ("lapacke", "openblas"),
            ("yaml", "libyaml"),
            ("jansson", "jansson"),
            ("zlib", "zlib-api"),
        ):
            args.append("--with-{0}={1}".format(name, self.spec[package].prefix))
        return args

    def setup_run_environment(self, env):
        env.set("HETERPS_DATADIR", self.prefix.share.heterps)
