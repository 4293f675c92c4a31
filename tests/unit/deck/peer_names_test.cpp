#include "deck/messages/peer_names.hpp"

#include <set>

#include "deck/schema/schema.hpp"
#include "tests/unit/deck/tiny_deck.hpp"

namespace ziggurat::deck {
namespace {

using PeerNames = TinyDeck;

std::string key_of(const PeerName& peer) {
    return std::string{peer.ours.substr(0, peer.ours.find('='))};
}

TEST_F(PeerNames, LeadToKeysThatAreThereAndTakeTheValue) {
    std::set<std::string_view> seen;
    for (const auto& peer : peer_names()) {
        EXPECT_TRUE(seen.insert(peer.name).second) << peer.name << " is listed twice";
        ASSERT_NE(peer.ours.find('='), std::string_view::npos) << peer.name;
        const Row* row = deck_schema().find(key_of(peer));
        ASSERT_NE(row, nullptr) << peer.name << " leads to " << key_of(peer);
        EXPECT_EQ(row->implemented, Implemented::yes) << key_of(peer);

        // Rules may reject it for this model or machine; here only parsing counts.
        const auto loaded = load(without_gpus, {std::string{peer.ours}});
        for (const auto& printed : {loaded.found.print()}) {
            EXPECT_EQ(printed.find("unknown key"), std::string::npos) << peer.ours << "\n" << printed;
            EXPECT_EQ(printed.find("is not a "), std::string::npos) << peer.ours << "\n" << printed;
            EXPECT_EQ(printed.find("out of range"), std::string::npos) << peer.ours << "\n" << printed;
        }
    }
    EXPECT_GE(seen.size(), 100U);
}

TEST_F(PeerNames, AreFoundHoweverTheyAreSpelt) {
    for (const char* keyword : {"learning_rate", "learning-rate", "--learning-rate", "Learning_Rate"}) {
        const auto* peer = find_peer_name(keyword);
        ASSERT_NE(peer, nullptr) << keyword;
        EXPECT_EQ(key_of(*peer), "optimizer.lr");
    }
    for (const char* keyword : {"", "--", "learning", "learning_rates"}) {
        EXPECT_EQ(find_peer_name(keyword), nullptr) << keyword;
    }
}

TEST_F(PeerNames, AreNoKeysOfOurs) {
    for (const auto& peer : peer_names()) {
        EXPECT_EQ(deck_schema().find(peer.name), nullptr) << "the deck's own " << peer.name;
    }
}

TEST_F(PeerNames, AreToldWhereAKeyIsNotKnown) {
    const auto printed = load(without_gpus, {"train.gradient_accumulation_steps=4"}).found.print();
    EXPECT_NE(printed.find(
                  "Here that is train.global_batch, as in train.global_batch=1024 (automatic: global_batch "
                  "/ (micro_batch x data parallel ranks))."),
              std::string::npos)
        << printed;
}

TEST_F(PeerNames, OfValuesAreToldWhereAKeyTakesTheirs) {
    for (const auto& [override, ours] : {std::pair{"precision.compute=bfloat16", "'bf16'"},
                                         {"precision.gradient=torch.bfloat16", "'bf16'"},
                                         {"precision.compute=float32", "'fp32'"},
                                         {"tiers.home.optimizer=cpu", "'host'"},
                                         {"tiers.home.optimizer=gpu", "'device'"},
                                         {"tiers.home.parameters=disk", "'nvme'"},
                                         {"tiers.device.kind=gpu", "'cuda'"},
                                         {"tiers.device.kind=cpu", "'host'"}}) {
        const auto printed = load(without_gpus, {override}).found.print();
        EXPECT_NE(printed.find(std::string{"Did you mean "} + ours), std::string::npos)
            << override << printed;
    }
}

TEST_F(PeerNames, OfWeightsAreToldForAdapters) {
    const auto printed = load(without_gpus, {"train.lora={rank: 4, targets: [down_proj]}"}).found.print();
    EXPECT_NE(printed.find("Did you mean 'mlp.down'?"), std::string::npos) << printed;
    const auto rank = load(without_gpus, {"train.lora.r=4"}).found.print();
    EXPECT_NE(rank.find("Here that is train.lora.rank, as in train.lora.rank=16."), std::string::npos)
        << rank;
}

TEST_F(PeerNames, OfValuesAreNoWordsOfOurs) {
    EXPECT_TRUE(find_peer_values("bf16").empty());
    EXPECT_TRUE(find_peer_values("").empty());
    EXPECT_EQ(find_peer_values("BFloat16"), (std::vector<std::string_view>{"bf16"}));
}

}  // namespace
}  // namespace ziggurat::deck
