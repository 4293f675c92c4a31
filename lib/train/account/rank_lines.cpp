#include "train/account/rank_lines.hpp"

#include <fmt/format.h>

#include "base/text/json_number.hpp"
#include "spec/home_text.hpp"

namespace ziggurat::train {
namespace {

void field_if_any(JsonLine& line, const std::string& key, std::int64_t bytes) {
    if (bytes != 0) {
        line.field(key, bytes);
    }
}

}  // namespace

std::string rank_lines(std::span<const AccountRecord> ranks) {
    std::string text;
    JsonLine line;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
        const auto& record = ranks[rank];
        line.begin();
        line.field("rank", static_cast<std::int64_t>(rank));
        line.field("steps", record.steps() + record.excluded_steps);
        schedule::BytesByPurpose sent{}, planned{};
        add_up(record.flows, sent, planned);
        for (std::size_t i = 0; i < sent.size(); ++i) {
            field_if_any(line, fmt::format("sent_{}_B", to_string(static_cast<schedule::Purpose>(i))),
                         sent[i]);
        }
        for (const auto& use : record.links) {
            field_if_any(line, use.link + "_B", use.moved_bytes);
            field_if_any(line, "skipped_" + use.link + "_B", use.skipped_bytes);
            field_if_any(line, "redone_" + use.link + "_B", use.redone_bytes);
        }
        for (std::size_t t = 0; t < spec::tier_names.size(); ++t) {
            line.field(fmt::format("{}_B", spec::tier_names[t]), record.memory.reserved[t]);
            line.field(fmt::format("{}_resident_B", spec::tier_names[t]), record.memory.resident[t]);
        }
        line.field("process_start_B", record.memory.process_start);
        line.field("process_step_B", record.memory.process_step);
        line.field("process_peak_B", record.memory.process_peak);
        text += line.end();
    }
    return text;
}

}  // namespace ziggurat::train
