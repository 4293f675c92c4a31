/// Sample files for tests.
#pragma once

#include <string>
#include <vector>

#include "data/samples/sample_file.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::test {

/// A sample: its token ids, and 1 for each that counts in the loss.
struct TestSample {
    std::vector<std::int32_t> ids;
    std::vector<std::uint8_t> counts;
};

inline void write_samples(const std::string& path,
                          const std::vector<TestSample>& samples,
                          std::uint64_t tokenizer_hash = 0,
                          std::int32_t version = data::SampleFileHeader::conversations_version) {
    data::TemporaryFile file{path};
    data::SampleFileWriter writer{file};
    for (const auto& sample : samples) {
        writer.add(sample.ids, sample.counts);
    }
    writer.complete({.version = version, .tokenizer_hash = tokenizer_hash});
}

/// Writes chosen and rejected answers in turn.
inline void write_pairs(const std::string& path, const std::vector<TestSample>& answers) {
    write_samples(path, answers, 0, data::SampleFileHeader::pairs_version);
}

/// Returns settings for one source of the format chat, in the order of the file.
inline spec::Data chat_data(const std::string& path, std::int64_t seq, spec::SamplePacking packing) {
    spec::Data data;
    data.seq = seq;
    data.packing = packing;
    data.reset_at_document = packing == spec::SamplePacking::best_fit;
    data.shuffle = false;
    data.tokenizer.kind = spec::TokenizerKind::none;
    data.train = {{.format = spec::TokenFormat::chat, .path = path}};
    return data;
}

}  // namespace ziggurat::test
