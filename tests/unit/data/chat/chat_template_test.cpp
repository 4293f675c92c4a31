#include "data/chat/chat_template.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/unit/data/token_files.hpp"

namespace ziggurat::data {
namespace {

using test::deck_error_of;
using test::ScratchFolder;
using ::testing::EndsWith;
using ::testing::HasSubstr;

TEST(FindChatTemplate, PrefersTheFileToTheConfiguration) {
    const ScratchFolder folder;
    folder.write("tokenizer_config.json",
                 R"({"chat_template": "of config", "eos_token": {"content": "</s>"}})");
    const auto of_config = find_chat_template(folder / "tokenizer.json", "");
    EXPECT_EQ(of_config.text, "of config");
    EXPECT_THAT(of_config.path, EndsWith("tokenizer_config.json"));
    EXPECT_EQ(of_config.end_token(), "</s>");
    folder.write("chat_template.jinja", "of file");
    const auto of_file = find_chat_template(folder / "", "auto");
    EXPECT_EQ(of_file.text, "of file");
    EXPECT_NE(of_file.hash(), of_config.hash());
}

TEST(FindChatTemplate, ChoosesByName) {
    const ScratchFolder folder;
    folder.write("tokenizer_config.json", R"({"chat_template": [{"name": "default", "template": "d"},
        {"name": "rag", "template": "r"}, {"name": "tool_use", "template": "t"}]})");
    const auto usual = find_chat_template(folder / "", "");
    EXPECT_EQ(usual.text, "d");
    EXPECT_EQ(usual.tool_text, "t");
    const auto named = find_chat_template(folder / "", "rag");
    EXPECT_EQ(named.text, "r");
    EXPECT_EQ(named.tool_text, "");
    EXPECT_EQ(find_chat_template(folder / "", folder.write("own.txt", "own")).text, "own");
    EXPECT_THAT(deck_error_of([&] { find_chat_template(folder / "", "none"); }),
                HasSubstr("no chat template 'none', and no file has this name. Name a Jinja file or one of: "
                          "default, rag, tool_use."));
}

TEST(FindChatTemplate, ReadsAdditionalTemplates) {
    const ScratchFolder folder;
    folder.write("chat_template.jinja", "d");
    std::filesystem::create_directory(folder / "additional_chat_templates");
    folder.write("additional_chat_templates/rag.jinja", "r");
    EXPECT_EQ(find_chat_template(folder / "", "rag").text, "r");
    EXPECT_EQ(find_chat_template(folder / "", "").text, "d");
}

TEST(FindChatTemplate, NamesSpecialTokens) {
    const ScratchFolder folder;
    folder.write("chat_template.jinja", "d");
    folder.write(
        "tokenizer_config.json",
        R"({"bos_token": "<s>", "pad_token": null, "additional_special_tokens": ["<a>", {"content": "<b>"}]})");
    folder.write("special_tokens_map.json", R"({"bos_token": "<other>", "unk_token": "<unk>"})");
    const auto tokens = find_chat_template(folder / "", "").special_tokens;
    ASSERT_EQ(tokens.size(), 3U);
    EXPECT_EQ(tokens[0], (NamedToken{"bos_token", {"<s>"}, false}));
    EXPECT_EQ(tokens[1], (NamedToken{"unk_token", {"<unk>"}, false}));
    EXPECT_EQ(tokens[2], (NamedToken{"additional_special_tokens", {"<a>", "<b>"}, true}));
}

TEST(FindChatTemplate, RefusesFoldersWithoutOne) {
    const ScratchFolder folder;
    EXPECT_THAT(deck_error_of([&] { find_chat_template(folder / "", ""); }),
                HasSubstr("has no chat template (neither chat_template.jinja nor chat_template in "
                          "tokenizer_config.json)"));
    EXPECT_THAT(deck_error_of([&] { find_chat_template("", "auto"); }), HasSubstr("has no chat template"));
    folder.write("tokenizer_config.json", R"({"chat_template": 3})");
    EXPECT_THAT(deck_error_of([&] { find_chat_template(folder / "", ""); }),
                HasSubstr("neither a text nor a list"));
    EXPECT_THAT(deck_error_of([&] { find_chat_template("", folder.write("bad", "\xff")); }),
                HasSubstr("not UTF-8"));
}

}  // namespace
}  // namespace ziggurat::data
