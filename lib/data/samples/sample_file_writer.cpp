#include "base/contract.hpp"
#include "data/samples/sample_file.hpp"

#include <cstring>

namespace ziggurat::data {
namespace {

template <class T>
void append(std::string& bytes, const T& value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

}  // namespace

SampleFileWriter::SampleFileWriter(TemporaryFile& file) : file_{file} {
    file_.append(std::string(sizeof(SampleFileHeader), '\0'));
}

void SampleFileWriter::add(std::span<const std::int32_t> ids, std::span<const std::uint8_t> counts) {
    constexpr std::size_t max_bytes = std::size_t{1} << 20;
    ZG_EXPECTS(ids.size() >= 2 && counts.size() == ids.size());
    for (std::size_t i = 0; i < ids.size(); ++i) {
        ZG_EXPECTS(ids[i] >= 0);
        append(buffer_, static_cast<std::uint32_t>(ids[i]) | (counts[i] != 0 ? SampleFile::counts_bit : 0));
        num_counted_ += counts[i] != 0 ? 1 : 0;
    }
    begins_.push_back(begins_.back() + std::ssize(ids));
    if (buffer_.size() >= max_bytes) {
        write();
    }
}

void SampleFileWriter::write() {
    body_.add(buffer_);
    file_.append(buffer_);
    buffer_.clear();
}

SampleFileHeader SampleFileWriter::complete(SampleFileHeader made_from, std::optional<std::uint64_t> key) {
    ZG_EXPECTS(!made_from.has_pairs() || begins_.size() % 2 == 1);
    std::memcpy(made_from.magic, SampleFileHeader::magic_bytes.data(), sizeof made_from.magic);
    made_from.num_samples = std::ssize(begins_) - 1;
    made_from.num_tokens = begins_.back();
    made_from.num_counted = num_counted_;
    for (const std::int64_t begin : begins_) {
        append(buffer_, begin);
    }
    write();
    if (key) {
        append(buffer_, body_.seal(made_from, *key));
        file_.append(buffer_);
        buffer_.clear();
    }
    append(buffer_, made_from);
    file_.complete(buffer_);
    return made_from;
}

}  // namespace ziggurat::data
