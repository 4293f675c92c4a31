#include <gtest/gtest.h>

#include "kernels/runtime.hpp"

int main(int argc, char** argv) {
    ::testing::InitGoogleTest(&argc, argv);
    const ziggurat::kernels::Runtime runtime{2};
    return RUN_ALL_TESTS();
}
