#include "train/generate/page_pool.hpp"

#include <gmock/gmock.h>

#include "base/error.hpp"

namespace ziggurat::train {
namespace {

using testing::ElementsAre;

TEST(PagePool, GivesPagesAsASequenceGrows) {
    PagePool pool{2, 3, 4};
    pool.extend(1, 0, 1);
    pool.extend(1, 1, 64);
    EXPECT_THAT(pool.table(), ElementsAre(-1, -1, -1, 0, -1, -1));
    pool.extend(1, 64, 130);
    pool.extend(0, 0, 64);
    EXPECT_THAT(pool.table(), ElementsAre(3, -1, -1, 0, 1, 2));
    EXPECT_EQ(pool.page_of(1, 64), 1);
    EXPECT_EQ(pool.num_free(), 0);
    EXPECT_THROW(pool.extend(0, 64, 65), Error);
}

TEST(PagePool, TakesPagesBackBeforeAWindow) {
    PagePool pool{1, 4, 4};
    pool.extend(0, 0, 200);
    pool.drop_before(0, 127);
    EXPECT_THAT(pool.table(), ElementsAre(-1, 1, 2, 3)) << "page 1 still holds position 127";
    pool.drop_before(0, 128);
    EXPECT_THAT(pool.table(), ElementsAre(-1, -1, 2, 3));
    EXPECT_EQ(pool.num_free(), 2);
    pool.drop_before(0, -5);
    pool.clear(0);
    EXPECT_EQ(pool.num_free(), 4);
}

TEST(PagePool, TakesPagesBackAfterAPosition) {
    PagePool pool{2, 4, 8};
    pool.extend(0, 0, 200);
    pool.drop_after(0, 65);
    EXPECT_THAT(pool.table(), ElementsAre(0, 1, -1, -1, /**/ -1, -1, -1, -1));
    pool.drop_after(0, 64);
    EXPECT_THAT(pool.table(), ElementsAre(0, -1, -1, -1, /**/ -1, -1, -1, -1));
    pool.share(0, 1, 64);
    EXPECT_THROW(pool.drop_after(0, 63), Error) << "the other sequence would see what follows";
    pool.drop_after(0, 0);
    EXPECT_EQ(pool.num_free(), 7);
}

TEST(PagePool, SharesFullPagesAndCopiesTheLastOne) {
    PagePool pool{3, 3, 5};
    pool.extend(0, 0, 140);
    const auto copy = pool.share(0, 1, 100);
    EXPECT_EQ(copy.from, 1);
    EXPECT_EQ(copy.to, 3);
    EXPECT_THAT(pool.table(), ElementsAre(0, 1, 2, /**/ 0, 3, -1, /**/ -1, -1, -1));
    const auto none = pool.share(0, 2, 128);
    EXPECT_EQ(none.to, -1);
    pool.clear(0);
    EXPECT_EQ(pool.num_free(), 2) << "pages 0 and 1 still have users";
    pool.clear(1);
    pool.clear(2);
    EXPECT_EQ(pool.num_free(), 5);
}

}  // namespace
}  // namespace ziggurat::train
