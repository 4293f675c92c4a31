#include "storage/sparse_image.hpp"

#include <algorithm>
#include <cstring>

namespace ziggurat::storage {
namespace {

/// Calls `visit(page, offset in page, offset in range, bytes)` for each page that a range overlaps.
template <class Visitor>
void for_each_page(std::int64_t offset_bytes, std::int64_t bytes, Visitor visit) {
    std::int64_t done = 0;
    while (done < bytes) {
        const std::int64_t at = offset_bytes + done;
        const std::int64_t within = at % page_bytes;
        const std::int64_t part = std::min(bytes - done, page_bytes - within);
        visit(at / page_bytes, within, done, part);
        done += part;
    }
}

}  // namespace

void SparseImage::write(std::int64_t offset_bytes, std::span<const std::byte> from) {
    for_each_page(offset_bytes, std::ssize(from),
                  [&](std::int64_t number, std::int64_t within, std::int64_t done, std::int64_t part) {
                      std::unique_ptr<Page>& page = pages_[number];
                      if (page == nullptr) {
                          page = std::make_unique<Page>();
                          page->fill(std::byte{0});
                      }
                      std::memcpy(page->data() + within, from.data() + done, part);
                  });
    size_bytes_ = std::max(size_bytes_, offset_bytes + std::ssize(from));
}

void SparseImage::read(std::int64_t offset_bytes, std::span<std::byte> into) const {
    for_each_page(offset_bytes, std::ssize(into),
                  [&](std::int64_t number, std::int64_t within, std::int64_t done, std::int64_t part) {
                      const auto page = pages_.find(number);
                      const std::size_t bytes = part;
                      if (page == pages_.end()) {
                          std::memset(into.data() + done, 0, bytes);
                      } else {
                          std::memcpy(into.data() + done, page->second->data() + within, bytes);
                      }
                  });
}

}  // namespace ziggurat::storage
