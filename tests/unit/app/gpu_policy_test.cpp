#include "app/start/gpu_policy.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "comm/built_with.hpp"
#include "device/built_for.hpp"

namespace ziggurat::app {
namespace {

std::string value_of(const char* variable) {
    const char* const value = std::getenv(variable);
    return value == nullptr ? "" : value;
}

TEST(GpuPolicy, SetsWhatTheUserHasNotSet) {
    unsetenv("CUDA_DEVICE_MAX_CONNECTIONS");
    unsetenv("NCCL_ALGO");

    choose_gpu_policy();

    EXPECT_EQ(value_of("CUDA_DEVICE_MAX_CONNECTIONS"), device::has_cuda ? "32" : "");
    EXPECT_EQ(value_of("NCCL_ALGO"), comm::has_nccl ? "allreduce:ring;reducescatter:ring" : "");
}

TEST(GpuPolicy, KeepsWhatTheUserHasSet) {
    setenv("NCCL_ALGO", "tree", 1);

    choose_gpu_policy();

    EXPECT_EQ(value_of("NCCL_ALGO"), "tree");
}

}  // namespace
}  // namespace ziggurat::app
