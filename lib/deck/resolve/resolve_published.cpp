#include "deck/resolve/resolve_published.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "deck/files/published_config.hpp"
#include "deck/files/resumed_run.hpp"
#include "deck/messages/missing_path.hpp"
#include "deck/schema/accepted_changes.hpp"
#include "deck/values/reader.hpp"
#include "deck/values/working_folder.hpp"
#include "layout/family_descriptor.hpp"

namespace ziggurat::deck {
namespace {

class Application {
  public:
    Application(Resolution& resolution, PublishedConfig config)
        : resolution_{resolution}, config_{std::move(config)} {}

    void run() {
        resolution_.found.remember(config_.file, config_.text);
        for (const auto& trouble : config_.troubles) {
            resolution_.found.error(at(trouble.line), trouble.problem, trouble.why, trouble.advice);
        }
        if (config_.is_missing) {
            note_where_looked(resolution_.found, at(0), config_.file);
        }
        if (!config_.troubles.empty()) {
            resolution_.values.mark_bad("model");
            return;
        }
        for (const auto& value : config_.values) {
            apply(value);
        }
    }

  private:
    SourceLocation at(int line) const { return {config_.file, line, line > 0 ? 1 : 0}; }

    const PublishedValue* find(std::string_view deck_key) const {
        const auto found = std::ranges::find(config_.values, deck_key, &PublishedValue::deck_key);
        return found == config_.values.end() ? nullptr : &*found;
    }

    /// Returns the value for the text `auto`: for two keys the format and the deck have the same default.
    std::string without_auto(const PublishedValue& said) const {
        if (said.text != "auto") {
            return said.text;
        }
        if (said.deck_key == "model.kv_heads") {
            return find("model.heads")->text;
        }
        const auto hidden = read_integer(find("model.hidden")->text);
        const auto* const family = layout::find_family(find("model.family")->text);
        return fmt::format("{}", family->usual_ffn_hidden(hidden.value_or(0)));
    }

    void apply(const PublishedValue& said) {
        const Row& row = *deck_schema().find(said.deck_key);
        Node node;
        node.kind = NodeKind::scalar;
        node.text = without_auto(said);
        node.at = at(said.line);
        auto value = read_value(row, said.deck_key, node, resolution_.found);
        auto& values = resolution_.values;
        if (!value) {
            values.mark_bad(said.deck_key);
            return;
        }
        if (row.type == Type::real) {
            value->written = write_real(std::get<double>(value->data));
        }
        const DeckValue* own = values.find(said.deck_key);
        const bool is_own = own != nullptr && own->word != "auto" &&
                            (values.is_written(said.deck_key) || own->origin.kind == OriginKind::preset);
        if (values.is_bad(said.deck_key)) {
            return;
        }
        if (!is_own) {
            value->origin.kind = OriginKind::preset;
            value->origin.note = config_.file;
            values.set(said.deck_key, std::move(*value));
        } else if (own->word != value->word || own->data != value->data) {
            disagree(said, row, own->written, value->written);
        }
    }

    bool is_accepted(const std::string& key) const {
        const auto entries = resolution_.values.as<std::vector<std::string>>("model.init.accept_change");
        return !accepted_by(entries, key).empty();
    }

    void disagree(const PublishedValue& said,
                  const Row& row,
                  const std::string& own,
                  const std::string& published) const {
        const auto place = said.key.empty()
                               ? fmt::format("{} leaves it at {}", in_quotes(config_.file), published)
                               : fmt::format("{} has {} = {} in line {}", in_quotes(config_.file), said.key,
                                             published, said.line);
        const auto location = resolution_.values.location(said.deck_key);
        const auto problem = fmt::format("{} = {} is not what the model has", said.deck_key, own);
        const auto* const family = layout::find_family(find("model.family")->text);
        if (row.on_resume == OnResume::refused_if_learned && family->has_rotary_positions()) {
            resolution_.found.note(location, problem, place + "; its weights allow it");
        } else if (is_accepted(said.deck_key)) {
            resolution_.found.warning(location, problem, place,
                                      "model.init.accept_change accepts the change: the run starts with it.");
        } else {
            const auto accept =
                is_acceptable(said.deck_key)
                    ? fmt::format(" To start with another value, set model.init.accept_change: [{}].",
                                  said.deck_key)
                    : "";
            resolution_.found.error(location, problem, place,
                                    fmt::format("Leave it out, or make it {}.{}", published, accept));
        }
    }

    Resolution& resolution_;
    PublishedConfig config_;
};

}  // namespace

void apply_published_config(Resolution& resolution) {
    const Values& values = resolution.values;
    if (!values.is_word("model.init.from", "hf") || values.is_word("model.init.path", "none") ||
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
