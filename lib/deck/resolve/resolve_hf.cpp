#include "deck/resolve/resolve_hf.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "deck/files/hf_config.hpp"
#include "deck/files/resumed_run.hpp"
#include "deck/messages/missing_path.hpp"
#include "deck/schema/accepted_changes.hpp"
#include "deck/values/reader.hpp"
#include "deck/values/working_folder.hpp"
#include "layout/families/family_descriptor.hpp"

namespace ziggurat::deck {
namespace {

class Application {
  public:
    Application(Resolution& resolution, HfConfig config)
        : resolution_{resolution}, config_{std::move(config)} {}

    void run() {
        resolution_.found.remember(config_.file, config_.text);
        for (const auto& reason : config_.reasons) {
            resolution_.found.error(at(reason), reason.problem, reason.reason, reason.advice);
        }
        if (config_.is_missing) {
            note_where_looked(resolution_.found, {config_.file, 0, 0}, config_.file);
        }
        if (!config_.reasons.empty()) {
            resolution_.values.mark_bad("model");
            return;
        }
        for (const auto& value : config_.values) {
            resolution_.found.add_foreign_key(
                {value.deck_key, value.key, at(value), without_auto(value) + derivation_of(value)});
        }
        for (const auto& value : config_.values) {
            apply(value);
        }
    }

  private:
    template <class Found>
    SourceLocation at(const Found& found) const {
        return {config_.file, found.line, found.column};
    }

    const HfValue* find(std::string_view deck_key) const {
        const auto found = std::ranges::find(config_.values, deck_key, &HfValue::deck_key);
        return found == config_.values.end() ? nullptr : &*found;
    }

    /// Returns the value for the text `auto`: for two keys the format and the deck have the same default.
    std::string without_auto(const HfValue& stated) const {
        if (stated.text != "auto") {
            return stated.text;
        }
        if (stated.deck_key == "model.kv_heads") {
            return find("model.heads")->text;
        }
        const auto hidden = read_integer(find("model.hidden")->text);
        if (stated.deck_key == "model.head_dim") {
            const auto heads = read_integer(find("model.heads")->text).value_or(0);
            return fmt::format("{}", heads > 0 ? hidden.value_or(0) / heads : 0);
        }
        const auto* const family = layout::find_family(find("model.family")->text);
        return fmt::format("{}", family->usual_ffn_hidden(hidden.value_or(0)));
    }

    /// Returns the keys from which a value follows that is `auto`; empty for other values.
    std::string derivation_of(const HfValue& stated) const {
        if (stated.text != "auto") {
            return "";
        }
        const auto key_of = [&](const char* deck_key) { return find(deck_key)->key; };
        return stated.deck_key == "model.kv_heads" ? fmt::format(", the value of {}", key_of("model.heads"))
               : stated.deck_key == "model.head_dim"
                   ? fmt::format(", {} / {}", key_of("model.hidden"), key_of("model.heads"))
                   : fmt::format(", computed from {}", key_of("model.hidden"));
    }

    void apply(const HfValue& stated) {
        const Row& row = *deck_schema().find(stated.deck_key);
        Node node = node_of(without_auto(stated));
        node.at = at(stated);
        auto value = read_value(row, stated.deck_key, node, resolution_.found);
        auto& values = resolution_.values;
        if (!value) {
            values.mark_bad(stated.deck_key);
            return;
        }
        if (row.type == Type::real && value->keyword.empty()) {
            value->written = write_real(std::get<double>(value->data));
        }
        const DeckValue* own = values.find(stated.deck_key);
        const bool is_own = own != nullptr && own->keyword != "auto" &&
                            (values.is_written(stated.deck_key) || own->origin.kind == OriginKind::preset);
        if (values.is_bad(stated.deck_key)) {
            return;
        }
        if (!is_own) {
            value->origin.kind = OriginKind::preset;
            value->origin.note = config_.file;
            values.set(stated.deck_key, std::move(*value));
            values.set_location(stated.deck_key, node.at);
        } else if (own->keyword != value->keyword || own->data != value->data) {
            disagree(stated, row, own->written, value->written);
        }
    }

    bool is_accepted(const std::string& key) const {
        const auto entries = resolution_.values.as<std::vector<std::string>>("model.init.accept_change");
        return !accepted_by(entries, key).empty();
    }

    void disagree(const HfValue& stated,
                  const Row& row,
                  const std::string& own,
                  const std::string& published) const {
        const auto key_location = stated.line == 0
                                      ? fmt::format("{} has no {}, which leaves it at {}",
                                                    in_quotes(config_.file), stated.key, published)
                                      : fmt::format("{} has {} = {} in line {}", in_quotes(config_.file),
                                                    stated.key, published, stated.line);
        const auto location = resolution_.values.location(stated.deck_key);
        const auto problem = fmt::format("{} = {} is not what the model has", stated.deck_key, own);
        const auto* const family = layout::find_family(find("model.family")->text);
        if (row.on_resume == OnResume::refused_if_learned && family->has_rotary_positions()) {
            resolution_.found.note(location, problem, key_location + "; its weights allow it");
        } else if (is_accepted(stated.deck_key)) {
            resolution_.found.warning(location, problem, key_location,
                                      "model.init.accept_change accepts the change: the run starts with it.");
        } else {
            const auto accept =
                is_acceptable(stated.deck_key)
                    ? fmt::format(" To start with another value, set model.init.accept_change: [{}].",
                                  stated.deck_key)
                    : "";
            resolution_.found.error(location, problem, key_location,
                                    fmt::format("Leave it out, or make it {}.{}", published, accept));
        }
    }

    Resolution& resolution_;
    HfConfig config_;
};

}  // namespace

void apply_published_config(Resolution& resolution) {
    const Values& values = resolution.values;
    if (!values.is_keyword("model.init.from", "hf") || values.is_keyword("model.init.path", "none") ||
        !values.has("model.init.path") || resolution.options.as_record) {
        return;
    }
    const auto& root = resolution.resumed_root;
    const auto base = path_from(values, values.text("model.init.path"));
    auto config = read_published_config(root.empty() ? base : kept_folder(root));
    if (config.is_missing && !root.empty()) {
        config = read_published_config(base);
        if (config.is_missing && values.is_written("model.hidden")) {
            return;  // the record of a run contains all its values
        }
    }
    if (config.is_missing && !resolution.options.needs_data) {
        return;  // a rule reports it
    }
    Application{resolution, std::move(config)}.run();
}

}  // namespace ziggurat::deck
