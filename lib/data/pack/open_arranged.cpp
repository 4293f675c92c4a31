#include "data/pack/open_arranged.hpp"

#include "data/pack/packed_source.hpp"

namespace ziggurat::data {

std::shared_ptr<const TokenSource> open_arranged(const spec::Data& data,
                                                 const spec::Source& source,
                                                 const std::string& key,
                                                 double held_out,
                                                 const SampleFileReports& reports) {
    if (source.format != spec::TokenFormat::chat) {
        return open_source(source, key);
    }
    auto samples = open_chat(data, source, key, reports);
    if (data.packing == spec::SamplePacking::wrapped) {
        return samples;
    }
    return std::make_shared<PackedSource>(std::move(samples), data, held_out, key);
}

}  // namespace ziggurat::data
