import re

from spack_repo.builtin.build_systems.cmake import CMakePackage, generator
from spack_repo.builtin.build_systems.cuda import CudaPackage

from spack.package import *


class Ziggurat(CMakePackage, CudaPackage):
    """Trains transformer language models larger than device memory, over the ranks of an MPI job."""

    homepage = "https://ziggurat.example.org"

    # The sources have no public address: `spack develop --path` names the checkout (docs/install.md).
    version("0.1.0")

    variant("perf", default=False, description="Build the benchmarks")
    variant("sentencepiece", default=True, description="Read tokenizers of SentencePiece")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")

    depends_on("mpi@3:")
    depends_on("kokkos@3.4:5 +openmp")
    depends_on("onednn cpu_runtime=omp")
    depends_on("hdf5@1.10.5:1")
    depends_on("libaio")
    depends_on("zlib-api")
    depends_on("zstd")
    depends_on("xxhash")
    depends_on("yaml-cpp")
    depends_on("nlohmann-json")
    depends_on("fmt")
    depends_on("oniguruma")
    depends_on("sentencepiece", when="+sentencepiece")
    depends_on("python@3:", type=("run", "test"))
    depends_on("py-jinja2@3.1:", type="run")  # chat templates

    depends_on("googletest +gmock", type="test")
    depends_on("benchmark", when="+perf")

    # Without the frontend of cuDNN, which Spack lacks, the program's own kernels compute attention.
    depends_on("cuda@12.8:", when="+cuda")
    depends_on("nccl@2.18:", when="+cuda")
    conflicts("cuda_arch=none", when="+cuda", msg="Name the GPUs, for example cuda_arch=90.")

    requires("target=x86_64:", msg="The processor's -march is taken from x86_64 targets.")

    generator("ninja")

    def march(self):
        """The value of -march that Spack's compiler wrapper also passes."""
        compiler = self.spec["cxx"]
        flags = self.spec.target.optimization_flags(compiler.name, str(compiler.version))
        found = re.search(r"-march=(\S+)", flags)
        if not found:
            raise InstallError(f"no -march of {compiler.name} for {self.spec.target}: the flags are '{flags}'")
        return found[1]

    def cmake_args(self):
        args = [
            self.define("ZIGGURAT_MARCH", self.march()),
            self.define("ZIGGURAT_BUILD_TESTS", self.run_tests),
            self.define("ZIGGURAT_WARNINGS_ARE_ERRORS", False),
            self.define_from_variant("ZIGGURAT_BUILD_PERF", "perf"),
            self.define("ZIGGURAT_CUDA", "on" if self.spec.satisfies("+cuda") else "off"),
        ]
        if self.spec.satisfies("+cuda"):
            args.append(self.define("CMAKE_CUDA_ARCHITECTURES", list(self.spec.variants["cuda_arch"].value)))
        return args
