/// Errors about facts on sources that a program passes to a deck, at the keys of the sources.
#include <gmock/gmock.h>

#include <map>

#include "base/error.hpp"
#include "tests/unit/deck/tiny_deck.hpp"

namespace ziggurat::deck {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class ReadSources : public TinyDeck {
  protected:
    ReadSources() {
        options_.read_source = [this](const spec::RunSpec&, const spec::Source& source,
                                      const std::string& key) {
            asked_.push_back(key);
            if (const auto wrong = wrong_.find(key); wrong != wrong_.end()) {
                throw Error{wrong->second, key + ": '" + source.path + "' is wrong (so it is). Mend it."};
            }
            return facts_.contains(key) ? facts_.at(key)
                                        : SourceFacts{.tokens = 5000, .files = {source.path}};
        };
    }
    std::string problems(const std::vector<std::string>& overrides = {}) {
        return load(without_gpus, overrides).found.print();
    }
    static std::string two_of(const std::string& list) {
        return "data." + list + "=[{format: text, path: /dev/null}, {format: text, path: /}]";
    }

    std::vector<std::string> asked_;
    std::map<std::string, ErrorKind> wrong_;
    std::map<std::string, SourceFacts> facts_;
};

TEST_F(ReadSources, AreWrongAtTheirPlaceAllAtOnce) {
    wrong_ = {{"data.train[0].path", ErrorKind::deck},
              {"data.train[1].path", ErrorKind::deck},
              {"data.validation[1].path", ErrorKind::deck}};

    const auto printed = problems({two_of("train"), two_of("validation"), "train.global_batch=7"});

    EXPECT_THAT(printed, AllOf(HasSubstr("command line:1:34: '/dev/null' is wrong (so it is). Mend it.\n"),
                               HasSubstr("command line:1:67: '/' is wrong (so it is). Mend it.\n"),
                               HasSubstr("command line:2:72: '/' is wrong (so it is). Mend it.\n"),
                               HasSubstr("train.global_batch = 7"), HasSubstr("\n4 errors"),
                               Not(HasSubstr("[1].path"))));
    EXPECT_EQ(asked_.size(), 4U);
}

TEST_F(ReadSources, MayFailOtherwise) {
    wrong_ = {{"data.train[0].path", ErrorKind::internal}};
    EXPECT_THROW(load(without_gpus), Error);
}

TEST_F(ReadSources, AreNotAskedForWhatIsNotThere) {
    EXPECT_THAT(problems({"data.train=[{format: text, path: /no/such/file}]"}),
                HasSubstr("there is no such file"));
    options_.needs_data = false;
    EXPECT_THAT(problems({"data.train=[{format: text, path: /no/such/file}]"}), HasSubstr("is not here"));
    options_.as_record = true;
    problems();
    EXPECT_TRUE(asked_.empty());
}

TEST_F(ReadSources, HaveAWindow) {
    facts_["data.train[0].path"].tokens = 16;
    EXPECT_THAT(problems(),
                HasSubstr("data.train[0] has 16 tokens for training (a sequence of 16 and its last "
                          "target are 17)"));
    facts_["data.train[0].path"].tokens = 17;
    EXPECT_THAT(problems(), Not(HasSubstr("for training")));
}

TEST_F(ReadSources, MayBeDoubtful) {
    facts_["data.train[0].path"] = {
        .tokens = 5000, .doubt = SourceFacts::FormatWarning{"x.txt", "it begins as a zip", "Unpack it."}};

    const auto loaded = load(without_gpus);

    EXPECT_TRUE(loaded.ok());
    EXPECT_EQ(loaded.found.warnings(), 1U);
    EXPECT_THAT(
        loaded.found.print(),
        HasSubstr("warning: deck.yaml:3:46: 'x.txt' is read as text (it begins as a zip). Unpack it.\n"));
}

TEST_F(ReadSources, MayHaveSamplesWithoutATarget) {
    const auto of = [](std::int64_t without, std::int64_t held_out_without) {
        return SourceFacts{.tokens = 5000,
                           .packed = SourceFacts::Packed{.samples = 10,
                                                         .cut = 8,
                                                         .trained = 5,
                                                         .held_out = 1,
                                                         .without_target = without,
                                                         .held_out_samples = 2,
                                                         .held_out_without_target = held_out_without}};
    };
    facts_["data.train[0].path"] = of(0, 0);
    EXPECT_THAT(problems(), Not(HasSubstr("no token that counts")));
    facts_["data.train[0].path"] = of(3, 1);
    EXPECT_THAT(problems(),
                AllOf(HasSubstr("warning: "),
                      HasSubstr("3 of 10 samples of data.train[0] have no token that counts in the loss "
                                "(they are cut at data.seq = "),
                      Not(HasSubstr("has no loss"))));
    facts_["data.train[0].path"] = of(2, 2);
    EXPECT_THAT(problems(), Not(HasSubstr("error: ")));
    facts_["data.train[0].path"].packed->without_flag = 1;
    EXPECT_THAT(problems(), HasSubstr("1 of 10 samples of data.train[0] has no token that counts in the loss "
                                      "(none of their tokens has a flag)"));
}

TEST_F(ReadSources, HaveATarget) {
    auto& facts =
        facts_["data.train[0].path"] = {.tokens = 5000, .targets = SourceFacts::Targets{.trained = 1}};
    EXPECT_THAT(problems(), Not(HasSubstr("counts in the loss")));
    facts.targets->trained = 0;
    EXPECT_THAT(problems(),
                HasSubstr("no token of data.train[0] counts in the loss (no token of its sequences has"));
    facts.packed = SourceFacts::Packed{.samples = 1, .cut = 1, .trained = 1, .without_target = 1};
    EXPECT_THAT(problems(), HasSubstr("no token of data.train[0] counts in the loss (samples are cut"));
    facts.packed.reset();
    EXPECT_THAT(problems({"data.seq=1"}), HasSubstr("(data.seq = 1 leaves no token before a target)"));
    facts.targets->is_exact = false;
    EXPECT_THAT(problems(), HasSubstr("(each document has one token, and no context predicts it)"));
    facts.targets = {.trained = 1, .held_out = 0};
    EXPECT_THAT(problems({"data.held_out=50%"}),
                HasSubstr("no token of data.train[0] counts in the loss of the validation (data.held_out)"));
    facts.packed = SourceFacts::Packed{.trained = 1};
    EXPECT_THAT(problems({"data.held_out=50%"}), Not(HasSubstr("counts in the loss")))
        << "no sequence is held out";
    facts = {.tokens = 5000};
    facts_["data.validation[0].path"] = {.tokens = 5000, .targets = SourceFacts::Targets{}};
    EXPECT_THAT(problems({"data.validation=[{format: text, path: /dev/null}]"}),
                HasSubstr("no token of data.validation[0] counts in the loss of the validation ("));
}

TEST_F(ReadSources, AreNotReadIfASettingIsBad) {
    problems({"data.train=[{format: chat, path: /dev/null}]", "data.seq=-4"});
    EXPECT_TRUE(asked_.empty());
}

TEST_F(ReadSources, MayBeValidatedAndTrainedOn) {
    facts_["data.train[0].path"] = {.tokens = 5000, .files = {"t0", "t1"}};
    facts_["data.train[1].path"] = {.tokens = 5000, .files = {"t2"}};
    facts_["data.validation[0].path"] = {.tokens = 5000, .files = {"v0", "v1", "v2"}};
    facts_["data.validation[1].path"] = {.tokens = 5000, .files = {"v3"}};
    std::vector<std::string> asked;
    options_.find_train_validation_overlap = [&](const auto& validated, const auto& trained) {
        asked = validated;
        asked.insert(asked.end(), trained.begin(), trained.end());
        return std::vector<FileOverlap>{{0, 1, false}, {2, 0, true}, {3, 2, true}};
    };

    const auto loaded =
        load(without_gpus, {two_of("train"), two_of("validation"), "validate.every=10 steps"});

    EXPECT_TRUE(loaded.ok());
    EXPECT_EQ(loaded.found.warnings(), 2U);
    EXPECT_THAT(asked, ::testing::ElementsAre("v0", "v1", "v2", "v3", "t0", "t1", "t2"));
    EXPECT_THAT(
        loaded.found.print(),
        AllOf(HasSubstr("command line:2:39: 'v0' is validated and trained on, and 1 more of "
                        "data.validation[0] ('t1' of data.train[0] is that file). Keep it out"),
              HasSubstr("'v3' is validated and trained on ('t2' of data.train[1] has the same bytes).")));
}

}  // namespace
}  // namespace ziggurat::deck
