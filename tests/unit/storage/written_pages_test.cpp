#include "storage/written_pages.hpp"

#include <gtest/gtest.h>

#include "storage/direct_file.hpp"

namespace ziggurat::storage {
namespace {

TEST(WrittenPages, AreThoseThatAnyByteWasWrittenTo) {
    WrittenPages pages{10 * page_bytes - 5};
    EXPECT_FALSE(pages.any(0, 10 * page_bytes));

    pages.note(3 * page_bytes + 7, 2);
    pages.note(6 * page_bytes - 1, 2);
    pages.note(9 * page_bytes, 0);

    EXPECT_FALSE(pages.any(0, 3 * page_bytes));
    EXPECT_TRUE(pages.any(3 * page_bytes, 1));
    EXPECT_FALSE(pages.any(4 * page_bytes, page_bytes));
    EXPECT_TRUE(pages.any(5 * page_bytes, page_bytes));
    EXPECT_TRUE(pages.any(6 * page_bytes, page_bytes));
    EXPECT_FALSE(pages.any(7 * page_bytes, 3 * page_bytes));
    EXPECT_TRUE(pages.any(0, 10 * page_bytes));
}

}  // namespace
}  // namespace ziggurat::storage
