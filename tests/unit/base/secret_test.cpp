#include "base/text/secret.hpp"

#include <gtest/gtest.h>

#include <vector>

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

TEST(Secret, IsNoWordOfTheFieldThatHasOneInIt) {
    for (const char* name : {"TOKENIZER", "TOKENIZERS_PARALLELISM", "tokenizer_dir", "TRAIN_TOKENS",
                             "TOKENS_DIR", "AUTHOR", "git_authors_file"}) {
        EXPECT_FALSE(is_secret(name)) << name;
    }
    for (const char* name : {"TOKENIZER_TOKEN", "TOKENSECRET", "AUTHORIZATION", "AUTHOR_AUTH"}) {
        EXPECT_TRUE(is_secret(name)) << name;
    }
}

TEST(Secret, IsAShortWordOnlyIfItIsWhole) {
    for (const char* name : {"DB_PASS", "NCCL_PASS", "PASS", "GITHUB_PAT", "GITHUB_PAT_2", "MY_PWD",
                             "ROOT_PW", "SESSION_COOKIE", "COOKIES", "API_BEARER", "dbPass", "SSHPASS",
                             "MYSQL_PWD", "my-pw", "WANDB_KEY", "KEY", "SSH_KEY_2", "S3_KEY1", "pass_file"}) {
        EXPECT_TRUE(is_secret(name)) << name;
    }
    for (const char* name :
         {"PWD", "OLDPWD", "PATH", "PATTERN", "LD_LIBRARY_PATH", "NUM_PASSES", "BYPASS_CACHE", "KEY_SIZE",
          "KEYBOARD", "MONKEY", "PWM_RATE", "SPAT", "HOME", "_", "__", "2"}) {
        EXPECT_FALSE(is_secret(name)) << name;
    }
}

TEST(Secret, GivesWayToItsVariableInTexts) {
    const std::vector<Secret> secrets{{"HF_TOKEN", "abc"}, {"DB_PASSWORD", "x"}};

    EXPECT_EQ(without_secrets("/abc/y/abcx", secrets),
              "/${env:HF_TOKEN}/y/${env:HF_TOKEN}${env:DB_PASSWORD}");
    EXPECT_EQ(without_secrets("plain", {}), "plain");
    const std::vector<Secret> nested{{"A_TOKEN", "N"}, {"B_TOKEN", "No"}};
    EXPECT_EQ(without_secrets("NoN", nested), "${env:B_TOKEN}${env:A_TOKEN}");
}

TEST(Secret, IsStarredAndNothingElse) {
    EXPECT_EQ(without_secret("SLURM_JWT=eyJhbGciOi=="), "SLURM_JWT=***");
    EXPECT_EQ(without_secret("SLURM_JOB_NAME=token"), "SLURM_JOB_NAME=token");
    EXPECT_EQ(without_secret("SLURM_JWT"), "SLURM_JWT=***");
}

}  // namespace
}  // namespace ziggurat
