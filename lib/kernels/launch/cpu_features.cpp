#include "kernels/launch/cpu_features.hpp"

#include <unistd.h>

#include <cstring>

namespace ziggurat::kernels {

bool features_are_checked = false;

namespace {

constexpr int exit_code_resource = 3;

/// Appends the part of `more` that fits.
void append(char* text, std::size_t capacity, const char* more) {
    const std::size_t used = std::strlen(text);
    if (used + 1 < capacity) {
        std::strncat(text, more, capacity - used - 1);
    }
}

bool has_all(HasFeature has, const char* const* names) {
    for (; *names != nullptr; ++names) {
        if (!has(*names)) {
            return false;
        }
    }
    return true;
}

/// Returns the highest level of the x86-64 psABI that the processor supports.
const char* highest_level(HasFeature has) {
    static const char* const v2[] = {"popcnt", "sse3", "ssse3", "sse4.1", "sse4.2", nullptr};
    static const char* const v3[] = {"avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", nullptr};
    static const char* const v4[] = {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl", nullptr};
    if (!has_all(has, v2)) {
        return "x86-64";
    }
    if (!has_all(has, v3)) {
        return "x86-64-v2";
    }
    return has_all(has, v4) ? "x86-64-v4" : "x86-64-v3";
}

/// 101 is the first constructor priority for user code, so this runs before all other constructors.
[[gnu::constructor(101)]] void check_or_exit() {
    char text[1024];
    if (describe_missing_features(compiled_features, processor_has, text, sizeof text) > 0) {
        const auto written = write(STDERR_FILENO, text, std::strlen(text));
        static_cast<void>(written);
        _exit(exit_code_resource);
    }
    features_are_checked = true;
}

}  // namespace

bool processor_has(const char* name) {
    struct Support {
        const char* name;
        bool is_present;
    };
    __builtin_cpu_init();
#define ZG_SUPPORT(feature) \
    { feature, __builtin_cpu_supports(feature) != 0 }
    const Support supports[] = {ZG_SUPPORT("sse3"),         ZG_SUPPORT("ssse3"),
                                ZG_SUPPORT("sse4.1"),       ZG_SUPPORT("sse4.2"),
                                ZG_SUPPORT("popcnt"),       ZG_SUPPORT("movbe"),
                                ZG_SUPPORT("lzcnt"),        ZG_SUPPORT("bmi"),
                                ZG_SUPPORT("bmi2"),         ZG_SUPPORT("avx"),
                                ZG_SUPPORT("f16c"),         ZG_SUPPORT("fma"),
                                ZG_SUPPORT("avx2"),         ZG_SUPPORT("avxvnni"),
                                ZG_SUPPORT("gfni"),         ZG_SUPPORT("avx512f"),
                                ZG_SUPPORT("avx512cd"),     ZG_SUPPORT("avx512bw"),
                                ZG_SUPPORT("avx512dq"),     ZG_SUPPORT("avx512vl"),
                                ZG_SUPPORT("avx512ifma"),   ZG_SUPPORT("avx512vbmi"),
                                ZG_SUPPORT("avx512vbmi2"),  ZG_SUPPORT("avx512vnni"),
                                ZG_SUPPORT("avx512bitalg"), ZG_SUPPORT("avx512vpopcntdq"),
                                ZG_SUPPORT("avx512bf16"),   ZG_SUPPORT("avx512fp16")};
#undef ZG_SUPPORT
    for (const Support& support : supports) {
        if (std::strcmp(support.name, name) == 0) {
            return support.is_present;
        }
    }
    return true;
}

int describe_missing_features(const char* const* required, HasFeature has, char* text, std::size_t capacity) {
    text[0] = '\0';
    int missing = 0;
    for (; *required != nullptr; ++required) {
        if (!has(*required)) {
            append(text, capacity, missing == 0 ? "ziggurat: error: this processor lacks " : ", ");
            append(text, capacity, *required);
            ++missing;
        }
    }
    if (missing > 0) {
        append(text, capacity, " (the program was built for one that has them). ");
        append(text, capacity, "Build it on this machine, or with -DZIGGURAT_MARCH=");
        append(text, capacity, highest_level(has));
        append(text, capacity, ".\n");
    }
    return missing;
}

}  // namespace ziggurat::kernels
