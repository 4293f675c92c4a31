#include <fmt/format.h>
#include <zlib.h>
#include <zstd.h>

#include <array>
#include <new>

#include "base/text/printable.hpp"
#include "data/text/text_stream.hpp"

namespace ziggurat::data {
namespace {

constexpr std::size_t part_bytes = std::size_t{256} << 10;

class GzipUnpacker final : public Unpacker {
  public:
    GzipUnpacker() {
        constexpr int largest_window_of_gzip = 15 + 16;
        if (::inflateInit2(&stream_, largest_window_of_gzip) != Z_OK) {
            throw std::bad_alloc{};
        }
    }
    ~GzipUnpacker() override { ::inflateEnd(&stream_); }
    GzipUnpacker(const GzipUnpacker&) = delete;
    GzipUnpacker& operator=(const GzipUnpacker&) = delete;

    std::string unpack(std::string_view packed, std::string& text) override {
        stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));  // zlib only reads it
        stream_.avail_in = static_cast<uInt>(packed.size());
        bool has_more = !packed.empty();
        while (has_more) {
            if (is_between_ && !begin_member()) {
                return "";  // zeros that pad a block of a tape
            }
            stream_.next_out = reinterpret_cast<Bytef*>(part_.data());
            stream_.avail_out = static_cast<uInt>(part_.size());
            const int code = ::inflate(&stream_, Z_NO_FLUSH);
            text.append(part_.data(), part_.size() - stream_.avail_out);
            if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR) {
                return fmt::format("its gzip data are corrupt: {}",
                                   stream_.msg == nullptr ? "unknown reason" : stream_.msg);
            }
            is_between_ = code == Z_STREAM_END;
            has_more = stream_.avail_in > 0 || (!is_between_ && stream_.avail_out == 0);
        }
        return "";
    }
    bool is_complete() const noexcept override { return is_between_; }

  private:
    /// Starts the next member. Returns false if only zeros follow in this part.
    bool begin_member() {
        while (stream_.avail_in > 0 && *stream_.next_in == 0) {
            ++stream_.next_in;
            --stream_.avail_in;
        }
        if (stream_.avail_in == 0) {
            return false;
        }
        ::inflateReset(&stream_);
        is_between_ = false;
        return true;
    }

    z_stream stream_{};
    std::array<char, part_bytes> part_{};
    bool is_between_ = false;  ///< between two members, or after the last one
};

struct ContextDeleter {
    void operator()(ZSTD_DCtx* context) const noexcept { ZSTD_freeDCtx(context); }
};

class ZstdUnpacker final : public Unpacker {
  public:
    ZstdUnpacker() : context_{ZSTD_createDCtx()} {
        if (context_ == nullptr) {
            throw std::bad_alloc{};
        }
        // Archives of web texts are often written with --long=31.
        ZSTD_DCtx_setParameter(context_.get(), ZSTD_d_windowLogMax,
                               ZSTD_dParam_getBounds(ZSTD_d_windowLogMax).upperBound);
    }

    std::string unpack(std::string_view packed, std::string& text) override {
        ZSTD_inBuffer in{packed.data(), packed.size(), 0};
        ZSTD_outBuffer out{part_.data(), part_.size(), 0};
        // If the output buffer is full, the decoder may hold more output.
        while (in.pos < in.size || (out.pos == out.size && out.size > 0)) {
            out.pos = 0;
            const auto code = ZSTD_decompressStream(context_.get(), &out, &in);
            if (ZSTD_isError(code) != 0) {
                return fmt::format("its zstd data are corrupt: {}", ZSTD_getErrorName(code));
            }
            text.append(part_.data(), out.pos);
            is_between_ = code == 0;
            if (in.pos == in.size && is_between_) {
                break;
            }
        }
        return "";
    }
    bool is_complete() const noexcept override { return is_between_; }

  private:
    std::unique_ptr<ZSTD_DCtx, ContextDeleter> context_;
    std::array<char, part_bytes> part_{};
    bool is_between_ = false;  ///< between two frames, or after the last one
};

}  // namespace

std::unique_ptr<Unpacker> make_gzip_unpacker() {
    return std::make_unique<GzipUnpacker>();
}

std::unique_ptr<Unpacker> make_zstd_unpacker() {
    return std::make_unique<ZstdUnpacker>();
}

}  // namespace ziggurat::data
