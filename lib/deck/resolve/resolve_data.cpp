#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "deck/messages/diagnostics.hpp"
#include "deck/resolve/resolve.hpp"
#include "deck/values/by_step.hpp"
#include "deck/values/working_folder.hpp"
#include "spec/token_format.hpp"

namespace ziggurat::deck {
namespace {

/// Returns the file's name without its suffix; for a pattern, the name of its folder.
std::string short_name(const std::string& path) {
    const std::filesystem::path file{path};
    const auto name = file.stem().string();
    const bool is_pattern = name.find_first_of("*?[") != std::string::npos;
    const auto folder = file.parent_path().filename().string();
    return is_pattern && !folder.empty() ? folder : name;
}

/// Sets the names of losses. If two sources would share a name, each gets its whole path instead.
///
/// \param held_out  sources of data.train that are validated as well
void name_sources(Resolution& resolution,
                  const std::string& list,
                  std::vector<spec::Source>& all,
                  const std::vector<spec::Source>& held_out) {
    Values& values = resolution.values;
    const auto key_of = [&](std::size_t i) { return fmt::format("{}[{}].name", list, i); };
    std::map<std::string, int> uses;
    for (std::size_t i = 0; i < all.size(); ++i) {
        const bool is_auto = resolution.is_auto(key_of(i)) || !values.has(key_of(i));
        all[i].name = is_auto ? short_name(all[i].path) : values.text(key_of(i));
        ++uses[all[i].name];
    }
    for (const auto& source : held_out) {
        ++uses[source.name];
    }
    std::set<std::string> taken;  // a file may be listed twice
    for (std::size_t i = 0; i < all.size(); ++i) {
        const auto location = values.location(key_of(i));
        const auto name = all[i].name;
        if (resolution.is_auto(key_of(i)) || !values.has(key_of(i))) {
            all[i].name = uses[name] > 1 ? all[i].path : name;
            for (int number = 2; !taken.insert(all[i].name).second; ++number) {
                all[i].name = fmt::format("{} ({})", all[i].path, number);
            }
            resolution.erase_default(key_of(i));
        } else if (name.empty()) {
            resolution.found.error(location, "a source has an empty name",
                                   "its loss is reported under this name", "Give it one, or remove the key.");
        } else if (uses[name] > 1) {
            resolution.found.error(location, fmt::format("two sources have the name {}", in_quotes(name)),
                                   "their losses could not be distinguished", "Give each a different name.");
        }
    }
}

/// Returns true for a template that is a file, and not the name of one in the tokenizer's files.
bool is_template_file(const std::string& text) {
    return text.find('/') != std::string::npos || text.ends_with(".jinja");
}

spec::Source with_chat_settings(Values& values, const std::string& path, spec::Source source) {
    const auto key = path + ".template";
    if (values.has(key) && !values.is_keyword(key, "auto")) {
        const auto text = values.text(key);
        source.chat_template = is_template_file(text) ? path_from(values, text) : text;
    }
    source.loss_on = spec::loss_on_of(values.keyword(path + ".loss_on"));
    return source;
}

/// Returns the first weight of a source, and its changes.
std::pair<double, std::vector<spec::WeightChange>> weights_of(const Values& values, const std::string& key) {
    auto weights = values.as<ByStep>(key);
    if (weights.empty()) {
        return {1, {}};  // a source of data.validation, or a bad value
    }
    const double first = weights.front().weight;
    weights.erase(weights.begin());
    return {first, std::move(weights)};
}

std::vector<spec::Source> sources(Resolution& resolution,
                                  const std::string& list,
                                  const std::vector<spec::Source>& held_out = {}) {
    Values& values = resolution.values;
    std::vector<spec::Source> all;
    for (std::int64_t i = 0; i < values.count(list); ++i) {
        const std::string path = fmt::format("{}[{}]", list, i);
        resolution.require(path + ".format", "the file could hold text or token ids");
        resolution.require(path + ".path", "a source is a file");
        const auto format = spec::token_format_of(values.keyword(path + ".format"));
        if (format == spec::TokenFormat::raw) {
            resolution.require(path + ".dtype", "a raw file does not contain the type of its token ids");
        }
        const auto [weight, weight_changes] = weights_of(values, path + ".weight");
        all.push_back(with_chat_settings(
            values, path,
            {.format = format.value_or(spec::TokenFormat::text),
             .path = path_from(values, values.text(path + ".path")),
             .weight = weight,
             .weight_changes = weight_changes,
             .raw_type =
                 spec::raw_type_of(values.keyword(path + ".dtype")).value_or(spec::RawType::uint16)}));
    }
    name_sources(resolution, list, all, held_out);
    return all;
}

/// Resolves data.seq and model.max_seq; if one of them is auto, it follows the other.
void resolve_lengths(Resolution& resolution) {
    Values& values = resolution.values;
    const bool seq_follows = resolution.is_auto("data.seq");
    const bool max_seq_follows = resolution.is_auto("model.max_seq");
    if (seq_follows && max_seq_follows) {
        values.erase("data.seq");
        values.mark_bad("model.max_seq");
        resolution.require("data.seq", "neither it nor model.max_seq gives the length of a sequence");
    } else if (seq_follows && values.has("model.max_seq")) {
        resolution.set_resolved_integer("data.seq", values.integer("model.max_seq"), "model.max_seq");
    } else if (max_seq_follows && values.has("data.seq")) {
        resolution.set_resolved_integer("model.max_seq", values.integer("data.seq"), "data.seq");
    } else if (seq_follows || max_seq_follows) {
        // The key to follow has an error, which was already reported.
        values.mark_bad(seq_follows ? "data.seq" : "model.max_seq");
    }
}

/// Resolves data.packing, data.long_samples and data.reset_at_document.
void resolve_packing(Resolution& resolution) {
    Values& values = resolution.values;
    spec::Data& data = resolution.run.data;
    const bool has_chat = spec::has_conversations(data);
    data.has_pairs = !values.is_keyword("train.objective.kind", "next_token");
    if (resolution.is_auto("data.packing")) {
        data.packing = has_chat ? spec::SamplePacking::best_fit : spec::SamplePacking::wrapped;
        const std::string keyword = spec::word_of(data.packing);
        values.set_resolved("data.packing", keyword, keyword,
                            has_chat ? "sources of chat" : "no source of chat");
    } else {
        data.packing =
            spec::packing_of(values.keyword("data.packing")).value_or(spec::SamplePacking::wrapped);
    }
    data.long_samples =
        spec::long_samples_of(values.keyword("data.long_samples")).value_or(spec::LongSamples::cut);
    if (resolution.is_auto("data.reset_at_document")) {
        data.reset_at_document =
            has_chat && (data.packing == spec::SamplePacking::best_fit || data.has_pairs);
        values.set_resolved("data.reset_at_document", data.reset_at_document,
                            data.reset_at_document ? "true" : "false", "data.packing");
    } else {
        data.reset_at_document = values.boolean("data.reset_at_document");
    }
}

/// Resolves data.document_token; auto is the tokenizer's token if documents are distinguished.
void resolve_document_token(Resolution& resolution) {
    Values& values = resolution.values;
    spec::Data& data = resolution.run.data;
    if (!resolution.is_auto("data.document_token")) {
        data.document_token =
            values.is_keyword("data.document_token", "none") ? -1 : values.integer("data.document_token");
        return;
    }
    const bool is_known = resolution.tokenizer && resolution.tokenizer->document_token;
    if (data.reset_at_document && is_known) {
        data.document_token = *resolution.tokenizer->document_token;
        resolution.set_resolved_integer("data.document_token", data.document_token, "the tokenizer");
        return;
    }
    data.document_token = -1;
    values.set_resolved("data.document_token", std::string{"none"}, "none",
                        data.reset_at_document ? "no tokenizer names one" : "data.reset_at_document");
}

void resolve_add_bos(Resolution& resolution) {
    Values& values = resolution.values;
    spec::Data& data = resolution.run.data;
    const auto location = values.location("data.add_bos");
    const auto& facts = resolution.tokenizer;
    if (resolution.is_auto("data.add_bos")) {
        if (!data.tokenizer.has_file()) {
            resolution.erase_default("data.add_bos");
            return;
        }
        if (!facts) {
            return;
        }
        const bool adds = facts->adds_begin_token;
        values.set_resolved("data.add_bos", adds, adds ? "true" : "false", "the tokenizer's files");
        data.add_bos = adds ? spec::AddBos::yes : spec::AddBos::no;
    } else {
        data.add_bos = values.boolean("data.add_bos") ? spec::AddBos::yes : spec::AddBos::no;
    }
    const bool has_none = facts ? !facts->begin_token : data.tokenizer.kind == spec::TokenizerKind::bytes;
    if (data.add_bos == spec::AddBos::yes && has_none) {
        resolution.found.error(location, "there is no begin-of-text token to add", "the tokenizer names none",
                               "Use data.add_bos: false.");
    } else if (data.add_bos == spec::AddBos::yes && facts) {
        resolution.found.note(
            location, fmt::format("texts of samples and eval begin with token {}", *facts->begin_token),
            values.is_written("data.add_bos") ? "data.add_bos is true" : "the tokenizer's files specify it");
    }
}

}  // namespace

void resolve_data(Resolution& resolution) {
    Values& values = resolution.values;
    spec::Data& data = resolution.run.data;
    resolve_lengths(resolution);
    resolution.run.model.max_seq = values.integer("model.max_seq");
    data.seq = values.integer("data.seq");
    if (values.is_empty_list("data.train")) {
        resolution.found.error(values.location("data.train"), "'data.train' is an empty list",
                               "there is nothing to train on",
                               "Give it a source, such as [{format: text, path: input.txt}].");
        values.mark_bad("data.train");
    } else if (values.count("data.train") == 0 && !values.is_bad("data.train")) {
        resolution.require("data.train", "there is nothing to train on");
    }
    data.train = sources(resolution, "data.train");
    data.held_out = values.real("data.held_out");
    data.validation =
        sources(resolution, "data.validation", data.held_out > 0 ? data.train : std::vector<spec::Source>{});
    data.shuffle = values.boolean("data.shuffle");
    resolve_packing(resolution);
    resolve_document_token(resolution);
    resolve_add_bos(resolution);
}

}  // namespace ziggurat::deck
