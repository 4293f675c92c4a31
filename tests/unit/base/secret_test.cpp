#include "base/secret.hpp"

#include <gtest/gtest.h>

namespace ziggurat {
namespace {

TEST(Secret, IsWhatItsNameSays) {
    for (const char* name :
         {"SLURM_JWT", "ZIGGURAT_TOKEN", "hf_token", "SLURM_X11_MAGIC_SECRET", "OMPI_password",
          "WANDB_API_KEY", "OMPI_MCA_orte_precondition_transports", "CUDA_CREDENTIALS", "NCCL_AUTH"}) {
        EXPECT_TRUE(is_secret(name)) << name;
    }
    for (const char* name : {"SLURM_JOB_ID", "OMP_NUM_THREADS", "OMPI_MCA_shmem_mmap_priority", "NCCL_DEBUG",
                             "KOKKOS_TUNE_INTERNALS", "ZIGGURAT_STOP_AT", "CUDA_VISIBLE_DEVICES", ""}) {
        EXPECT_FALSE(is_secret(name)) << name;
    }
}

TEST(Secret, IsStarredAndNothingElse) {
    EXPECT_EQ(without_secret("SLURM_JWT=eyJhbGciOi=="), "SLURM_JWT=***");
    EXPECT_EQ(without_secret("SLURM_JOB_NAME=token"), "SLURM_JOB_NAME=token");
    EXPECT_EQ(without_secret("SLURM_JWT"), "SLURM_JWT=***");
}

}  // namespace
}  // namespace ziggurat
