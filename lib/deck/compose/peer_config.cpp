#include "deck/compose/peer_config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "deck/messages/peer_names.hpp"

namespace ziggurat::deck {
namespace {

/// Top-level keys of DeepSpeed configurations that do not occur in decks.
constexpr std::array<std::string_view, 12> own_keys{"train_batch_size",
                                                    "train_micro_batch_size_per_gpu",
                                                    "gradient_accumulation_steps",
                                                    "zero_optimization",
                                                    "gradient_clipping",
                                                    "steps_per_print",
                                                    "wall_clock_breakdown",
                                                    "activation_checkpointing",
                                                    "fp16",
                                                    "bf16",
                                                    "scheduler",
                                                    "aio"};
constexpr std::ptrdiff_t few = 2;
constexpr std::size_t longest_value = 40;

std::string_view key_of(std::string_view override) {
    return override.substr(0, override.find('='));
}

/// Collects counterparts for a map and its nested maps; each deck key occurs once.
class Counterparts {
  public:
    void add(const Node& map, const std::string& parent) {
        for (const auto& entry : map.entries) {
            const auto path = parent + entry.key;
            if (entry.value.kind == NodeKind::map) {
                add(entry.value, path + ".");
            }
            if (const auto* peer = find_peer_name(entry.key); peer != nullptr) {
                add(*peer, path, entry.value);
            }
        }
    }

    std::string text() && { return std::move(text_); }

  private:
    void add(const PeerName& peer, const std::string& path, const Node& value) {
        const auto key = key_of(peer.ours);
        if (!seen_.insert(std::string{key}).second) {
            return;
        }
        const bool is_value = value.kind == NodeKind::scalar && value.text.size() <= longest_value;
        const bool is_taken = peer.is_same && is_value && value.text != "auto";
        text_ += fmt::format("\n  {}{}  ->  {}{}", path, is_value ? ": " + value.text : "",
                             is_taken ? fmt::format("{}={}", key, value.text) : std::string{peer.ours},
                             peer.note.empty() ? "" : fmt::format("   ({})", peer.note));
    }

    std::set<std::string> seen_;
    std::string text_;
};

}  // namespace

bool is_deepspeed_config(const Node& root) {
    if (root.kind != NodeKind::map || root.find("deck_version") != nullptr) {
        return false;
    }
    return std::ranges::count_if(root.entries, [](const MapEntry& entry) {
               return std::ranges::find(own_keys, entry.key) != own_keys.end();
           }) >= few;
}

std::string counterparts_of(const Node& root) {
    Counterparts all;
    all.add(root, "");
    return std::move(all).text();
}

}  // namespace ziggurat::deck
