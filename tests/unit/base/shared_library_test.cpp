#include "base/shared_library.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "base/error.hpp"

namespace ziggurat {
namespace {

using testing::HasSubstr;

void expect_lack(const std::function<void()>& work, const std::string& part) {
    try {
        work();
        ADD_FAILURE() << "nothing was refused";
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::resource);
        EXPECT_THAT(error.what(), HasSubstr(part));
        EXPECT_THAT(error.what(), HasSubstr("Install it."));
    }
}

TEST(SharedLibrary, FindsFunctions) {
    const SharedLibrary library{"libm.so.6", "Install it."};
    double (*root)(double) = nullptr;

    library.find("sqrt", root);

    EXPECT_EQ(root(9.0), 3.0);
}

TEST(SharedLibrary, NamesALibraryThatIsMissing) {
    expect_lack([] { SharedLibrary("libnone_such.so.7", "Install it."); }, "cannot open libnone_such.so.7 (");
}

TEST(SharedLibrary, NamesAFunctionThatIsMissing) {
    const SharedLibrary library{"libm.so.6", "Install it."};
    void (*function)() = nullptr;
    expect_lack([&] { library.find("no_such_function", function); },
                "libm.so.6 has no function no_such_function");
}

}  // namespace
}  // namespace ziggurat
