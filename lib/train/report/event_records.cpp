#include "train/report/event_records.hpp"

#include <array>
#include <bit>

namespace ziggurat::train {
namespace {

constexpr std::uint32_t castagnoli_reflected = 0x82F63B78;

constexpr std::array<std::uint32_t, 256> make_crc_table() {
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
        std::uint32_t rest = byte;
        for (int bit = 0; bit < 8; ++bit) {
            rest = (rest >> 1) ^ ((rest & 1) != 0 ? castagnoli_reflected : 0);
        }
        table[byte] = rest;
    }
    return table;
}

/// Appends a number, lowest byte first.
template <typename Number>
void append(std::string& text, Number number) {
    for (std::size_t byte = 0; byte < sizeof(Number); ++byte) {
        text.push_back(static_cast<char>(number >> (8 * byte) & 0xFF));
    }
}

/// Protocol buffer message.
class Message {
  public:
    void real64(int field, double value) {
        key(field, WireType::fixed64);
        append(text_, std::bit_cast<std::uint64_t>(value));
    }

    void real32(int field, float value) {
        key(field, WireType::fixed32);
        append(text_, std::bit_cast<std::uint32_t>(value));
    }

    void integer(int field, std::int64_t value) {
        key(field, WireType::varint);
        varint(static_cast<std::uint64_t>(value));
    }

    void bytes(int field, std::string_view value) {
        key(field, WireType::length_delimited);
        varint(value.size());
        text_ += value;
    }

    const std::string& text() const noexcept { return text_; }

  private:
    enum class WireType { varint = 0, fixed64 = 1, length_delimited = 2, fixed32 = 5 };

    void key(int field, WireType type) {
        varint(static_cast<std::uint64_t>(field) << 3 | static_cast<std::uint64_t>(type));
    }

    void varint(std::uint64_t value) {
        for (; value >= 0x80; value >>= 7) {
            text_.push_back(static_cast<char>((value & 0x7F) | 0x80));
        }
        text_.push_back(static_cast<char>(value));
    }

    std::string text_;
};

/// Field numbers of event.proto and summary.proto.
namespace event {
constexpr int wall_time = 1, step = 2, file_version = 3, summary = 5, session_log = 7;
}
namespace session_log {
constexpr int status = 1, status_start = 1;
}
constexpr int summary_value = 1;
namespace value {
constexpr int tag = 1, simple_value = 2;
}

std::string record(const std::string& message) {
    std::string text;
    append(text, std::uint64_t{message.size()});
    append(text, masked_crc32c(text));
    text += message;
    append(text, masked_crc32c(message));
    return text;
}

}  // namespace

std::uint32_t masked_crc32c(std::string_view bytes) noexcept {
    static constexpr auto table = make_crc_table();
    constexpr std::uint32_t mask = 0xA282EAD8;
    std::uint32_t crc = ~std::uint32_t{0};
    for (const char byte : bytes) {
        crc = crc >> 8 ^ table[(crc ^ static_cast<unsigned char>(byte)) & 0xFF];
    }
    return std::rotr(~crc, 15) + mask;
}

std::string version_record(double seconds) {
    Message message;
    message.real64(event::wall_time, seconds);
    message.bytes(event::file_version, "brain.Event:2");
    return record(message.text());
}

std::string restart_record(double seconds, std::int64_t step) {
    Message log;
    log.integer(session_log::status, session_log::status_start);
    Message message;
    message.real64(event::wall_time, seconds);
    message.integer(event::step, step + 1);  // first step that is dropped
    message.bytes(event::session_log, log.text());
    return record(message.text());
}

std::string scalars_record(double seconds, std::int64_t step, std::span<const Scalar> values) {
    Message summary;
    for (const auto& scalar : values) {
        Message value;
        value.bytes(value::tag, scalar.tag);
        value.real32(value::simple_value, static_cast<float>(scalar.value));
        summary.bytes(summary_value, value.text());
    }
    Message message;
    message.real64(event::wall_time, seconds);
    message.integer(event::step, step);
    message.bytes(event::summary, summary.text());
    return record(message.text());
}

}  // namespace ziggurat::train
