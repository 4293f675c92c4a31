#include "checkpoint/catalogue/input_checkpoints.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <system_error>

#include "checkpoint/checkpoint_folder.hpp"
#include "deck/effective.hpp"
#include "deck/values/quantities.hpp"
#include "deck/values/working_folder.hpp"

namespace ziggurat::checkpoint {
namespace {

namespace fs = std::filesystem;

std::optional<deck::Values> values_of(const std::string& text) {
    deck::Diagnostics ignored;
    return deck::read_effective_deck(deck::deck_schema(), text, "the effective deck", ignored);
}

std::string path_in(const deck::Values& values, std::string_view key) {
    const auto* value = values.find(std::string{key});
    return value == nullptr || !value->keyword.empty()
               ? ""
               : deck::path_from(values, values.text(std::string{key}));
}

fs::path whole(const fs::path& path) {
    std::error_code unreadable;
    const auto found = fs::weakly_canonical(fs::absolute(path, unreadable), unreadable);
    return found.has_filename() ? found : found.parent_path();
}

/// Returns true if `path` is a checkpoint of the run that `named` stands for.
bool is_of_run(const std::string& path, const std::string& named) {
    if (path.empty() || named.empty() || !step_of_folder(path)) {
        return false;
    }
    const auto folder = whole(path).parent_path();
    const auto run = whole(named);
    const auto is_in = [&](const fs::path& root) { return folder == root || folder == root / "ckpt"; };
    return is_in(run) || (run.filename() == "best" && is_in(run.parent_path()));
}

/// Returns `effective_deck`, whose values are `values`, in which `key` names the checkpoint `path`.
std::string named_in(const std::string& effective_deck,
                     deck::Values values,
                     std::string_view key,
                     const std::string& path) {
    const auto text = deck::path_here(values, path);
    values.set_resolved(std::string{key}, text, deck::write_text(text), "the checkpoint that this run read");
    return deck::with_value_of(effective_deck, values, std::string{key});
}

}  // namespace

std::string input_path(const std::string& effective_deck, std::string_view key) {
    const auto values = values_of(effective_deck);
    return values ? path_in(*values, key) : "";
}

std::string with_input(const std::string& effective_deck, std::string_view key, const std::string& path) {
    const auto values = values_of(effective_deck);
    return !values || path_in(*values, key) == path ? effective_deck
                                                    : named_in(effective_deck, *values, key, path);
}

std::string with_recorded_inputs(const std::string& recorded, const std::string& present) {
    const auto before = values_of(recorded);
    const auto now = values_of(present);
    if (!before || !now) {
        return present;
    }
    auto deck = present;
    for (const auto key : {init_key, reference_key}) {
        const auto path = path_in(*before, key);
        const auto named = path_in(*now, key);
        if (path != named && is_of_run(path, named)) {
            deck = named_in(deck, *now, key, path);
        }
    }
    return deck;
}

}  // namespace ziggurat::checkpoint
