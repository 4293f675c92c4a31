#include "deck/document/document.hpp"

#include <gtest/gtest.h>

namespace ziggurat::deck {
namespace {

/// Returns the first error of `text`, or "" for an accepted document.
std::string mismatch(const std::string& text) {
    Diagnostics found;
    parse_document(text, {"a.yaml"}, found);
    return found.ok() ? "" : found.sorted().front().text();
}

Node tree(const std::string& text) {
    Diagnostics found;
    auto node = parse_document(text, {"a.yaml"}, found);
    EXPECT_TRUE(node.has_value()) << found.print();
    return node.value_or(Node{});
}

TEST(ParseDocument, RemembersWhereEachValueStands) {
    const Node root = tree("run:\n  seed: 3\n  name: [a, 'b c']\n");

    const Node* seed = root.find("run")->find("seed");
    const Node* name = root.find("run")->find("name");
    EXPECT_EQ(seed->text, "3");
    EXPECT_EQ(seed->at, (SourceLocation{"a.yaml", 2, 9}));
    EXPECT_EQ(root.find("run")->entries[0].key_at, (SourceLocation{"a.yaml", 2, 3}));
    EXPECT_EQ(name->items[1].at, (SourceLocation{"a.yaml", 3, 13}));
    EXPECT_TRUE(name->items[1].is_quoted);
    EXPECT_FALSE(name->items[0].is_quoted);
}

TEST(ParseDocument, KeepsTheTextOfScalars) {
    const Node root = tree("a: 010\nb: 1e-8\nc: 24:00:00\nd: no\n");

    EXPECT_EQ(root.find("a")->text, "010");
    EXPECT_EQ(root.find("b")->text, "1e-8");
    EXPECT_EQ(root.find("c")->text, "24:00:00");
    EXPECT_EQ(root.find("d")->text, "no");
}

TEST(ParseDocument, TakesAnchorsAndMergeKeys) {
    const Node root = tree("a: &x {p: 1, q: 2}\nb: {<<: *x, q: 3}\nc: *x\n");

    EXPECT_EQ(root.find("b")->find("p")->text, "1");
    EXPECT_EQ(root.find("b")->find("q")->text, "3");
    EXPECT_EQ(root.find("c")->find("q")->text, "2");
}

TEST(ParseDocument, RefusesWhatYamlAllows) {
    EXPECT_EQ(
        mismatch("a: 1\nb: 2\na: 3\n"),
        "ziggurat: error: a.yaml:3:1: duplicate key 'a' (it is already at line 1). Remove one of them.");
    EXPECT_NE(mismatch("a: !!str 3\n").find("the YAML tag"), std::string::npos);
    EXPECT_NE(mismatch("a: 1\n---\nb: 2\n").find("a second YAML document"), std::string::npos);
    EXPECT_NE(mismatch("[1]: 2\n").find("a key that is not a word"), std::string::npos);
    EXPECT_NE(mismatch("a:\t1\n").find("ziggurat: error: a.yaml:1:3: a tab"), std::string::npos);
    EXPECT_EQ(mismatch("a: 1 #\ta tab in a comment\n"), "");
}

TEST(ParseDocument, IsBoundedWhateverTheTextSays) {
    EXPECT_NE(mismatch("a: " + std::string(100, '[') + std::string(100, ']')).find("nested deeper"),
              std::string::npos);
    EXPECT_NE(mismatch(std::string(Limits::file_bytes + 1, ' ')).find("KiB"), std::string::npos);
    std::string bomb = "a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1]\n";
    for (int i = 1; i < 12; ++i) {
        const std::string last = "*a" + std::to_string(i - 1);
        bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + last + ", " + last + ", " +
                last + "]\n";
    }
    EXPECT_NE(mismatch(bomb).find("more than 20000 values"), std::string::npos);
    EXPECT_NE(mismatch("a: &a [*a]\n").find("an alias inside its own anchor"), std::string::npos);
}

TEST(ParseDocument, TakesAnEmptyTextForAnEmptyMap) {
    EXPECT_EQ(tree("").kind, NodeKind::null);
    EXPECT_EQ(tree("# nothing\n").kind, NodeKind::null);
}

}  // namespace
}  // namespace ziggurat::deck
