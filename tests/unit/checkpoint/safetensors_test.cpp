/// Headers of safetensors files: accepted headers, rejected ones with their errors, and thousands of
/// broken files.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/error.hpp"
#include "checkpoint/hf/file_types.hpp"
#include "checkpoint/hf/model_folder.hpp"
#include "checkpoint/hf/safetensors_file.hpp"
#include "checkpoint/hf/safetensors_writer.hpp"
#include "checkpoint/hf/weight_map.hpp"
#include "tests/support/random/draw.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/unit/checkpoint/stored_tensors.hpp"

namespace ziggurat::checkpoint::hf {
namespace {

const std::string good =
    R"({"__metadata__":{"format":"pt"},"b":{"dtype":"BF16","shape":[2,3],"data_offsets":[8,20]},)"
    R"("a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
    R"("none":{"dtype":"F32","shape":[0,4],"data_offsets":[20,20]},)"
    R"("scalar":{"dtype":"I64","shape":[],"data_offsets":[20,28]}}  )";
constexpr std::int64_t good_bytes = 28;

std::string replaced(std::string text, const std::string& from, const std::string& to) {
    const auto at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
}

std::string problem_with(std::string_view header, std::int64_t bytes = good_bytes) {
    try {
        parse_header(header, bytes, "dir/model.safetensors");
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::checkpoint);
        EXPECT_NE(std::string{error.what()}.find("'dir/model.safetensors'"), std::string::npos);
        return error.what();
    }
    return "";
}

TEST(SafetensorsHeader, IsReadByPlace) {
    const auto tensors = parse_header(good, good_bytes, "dir/model.safetensors").tensors;
    ASSERT_EQ(tensors.size(), 4u);
    EXPECT_EQ(tensors[0], (FileTensor{"a", "F32", {2}, 0, 8}));
    EXPECT_EQ(tensors[1], (FileTensor{"b", "BF16", {2, 3}, 8, 20}));
    EXPECT_EQ(tensors[2], (FileTensor{"none", "F32", {0, 4}, 20, 20}));
    EXPECT_EQ(tensors[3], (FileTensor{"scalar", "I64", {}, 20, 28}));
}

TEST(SafetensorsHeader, ReadsWhatItWrites) {
    std::vector<FileTensor> tensors{{"x\"y", "F32", {3, 5}}, {"z", "BF16", {7}}};
    EXPECT_EQ(assign_offsets(tensors), 74);
    const auto text = header_text(tensors);
    EXPECT_EQ(text.size() % 8, 0u);
    EXPECT_EQ(
        text.find(
            R"({"__metadata__":{"format":"pt"},"x\"y":{"dtype":"F32","shape":[3,5],"data_offsets":[0,60]},)"),
        0u);
    EXPECT_EQ(parse_header(text, 74, "file").tensors, tensors);
}

TEST(SafetensorsHeader, HasSecondNamesOfTensors) {
    const auto read = parse_header(
        replaced(good, R"("format":"pt")", R"("format":"pt","head":"b","a":"b","lost":"none of it")"),
        good_bytes, "file");
    EXPECT_EQ(read.stored_names, (std::map<std::string, std::string>{{"head", "b"}}));
    EXPECT_TRUE(parse_header(good, good_bytes, "file").stored_names.empty());
}

struct Bad {
    const char* from;
    const char* to;
    const char* printed;
};

class BadHeader : public ::testing::TestWithParam<Bad> {};

TEST_P(BadHeader, IsRefusedWithTensorAndOffset) {
    const auto& [from, to, printed] = GetParam();
    const auto problem = problem_with(replaced(good, from, to));
    EXPECT_NE(problem.find(printed), std::string::npos) << problem;
}

INSTANTIATE_TEST_SUITE_P(
    All,
    BadHeader,
    ::testing::Values(
        Bad{"[8,20]", "[6,18]", "'b' begins at offset 6, within the one before, which ends at 8"},
        Bad{"[2,3],\"data_offsets\":[8,20]", "[2,2],\"data_offsets\":[12,20]",
            "'b' begins at offset 12, with a gap after the one before, which ends at 8"},
        Bad{"[2,3],\"data_offsets\":[8,20]", "[2,30],\"data_offsets\":[8,128]",
            "'b' ends at offset 128, beyond the file"},
        Bad{"[2,3]", "[2,4]", "'b' has 12 bytes at offset 8, but its type BF16 and shape need 16"},
        Bad{"BF16", "F32", "'b' has 12 bytes at offset 8, but its type F32 and shape need 24"},
        Bad{"BF16", "Q4", "'b' has type 'Q4', which the format does not have"},
        Bad{"\"a\":", "\"b\":", "has 'b' twice"},
        Bad{"\"dtype\":\"BF16\"", "\"dtype\":\"BF16\",\"dtype\":\"F32\"", "has 'dtype' twice"},
        Bad{"[8,20]", "[20,8]", "'b' has no data_offsets [begin, end]"},
        Bad{"[8,20]", "[8]", "'b' has no data_offsets [begin, end]"},
        Bad{"[8,20]", "[8,-20]", "'b' has a number in its data_offsets"},
        Bad{"[8,20]", "[8,20.0]", "'b' has a number in its data_offsets"},
        Bad{"[2,3]", "[4611686018427387904,3]", "'b' has a number in its shape"},
        Bad{"[2,3]", "[4000000000000000000,4000000000000000000]",
            "'b' has more elements than any file holds"},
        Bad{"[2,3]", "2", "'b' has a shape that is not a list"},
        Bad{",\"shape\":[2,3]", "", "'b' is not described"},
        Bad{"\"shape\":[2,3]", "\"form\":[2,3]", "'b' has no shape"},
        Bad{"\"BF16\"", "16", "'b' has no type"},
        Bad{"\"shape\":[2,3]", "\"form\":[{\"a\":1}]", "'b' has no shape"},
        Bad{"[2,3]", "[2,[3]]", "'b' has a number in its shape"},
        Bad{"[2,3]", "[2,\"3\"]", "'b' has a number in its shape"},
        Bad{"[2,3]", "{\"a\":2}", "'b' has a shape that is not a list"},
        Bad{"[8,20]", "[8,20,20]", "'b' has no data_offsets [begin, end]"},
        Bad{"[2,3]", "[2,3,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]", "'b' has more than 16 dims"},
        Bad{"[20,28]}", "[20,28]},\"last\":[1]", "'last' is not described"},
        Bad{"{\"format\":\"pt\"}", "{\"format\":1}", "its __metadata__ is not a map of texts"},
        Bad{"{\"format\":\"pt\"}", "{\"format\":{}}", "its __metadata__ is not a map of texts"},
        Bad{"{\"format\":\"pt\"}", "[\"pt\"]", "its __metadata__ is not a map of texts"},
        Bad{"{\"format\":\"pt\"}", "null", "its __metadata__ is not a map of texts"},
        Bad{"\"pt\"}", "\"pt\",\"format\":\"a\"}", "has 'format' twice"},
        Bad{"\"scalar\"", "\"__metadata__\"", "has '__metadata__' twice"},
        Bad{"}}  ", "}]", "its header is not valid JSON"},
        Bad{"{\"__meta", "[\"__meta", "not a JSON object of tensors"},
        Bad{"[2,3]", "[[[[[2]]]]]", "not a JSON object of tensors"}));

TEST(SafetensorsHeader, HasToAccountForAllBytes) {
    EXPECT_NE(problem_with(good, 29).find("end at offset 28, and its data has 29 bytes"), std::string::npos);
    EXPECT_NE(problem_with(good, 27).find("'scalar' ends at offset 28, beyond the file"), std::string::npos);
    EXPECT_NE(problem_with("", 0).find("not a JSON object"), std::string::npos);
    EXPECT_TRUE(parse_header("{}", 0, "file").tensors.empty());
}

/// Header of `count` tensors of one byte each.
std::string header_with(std::int64_t count) {
    std::string text = "{";
    for (std::int64_t k = 0; k < count; ++k) {
        text +=
            fmt::format(R"({}"model.layers.{}.weight":{{"dtype":"U8","shape":[1],"data_offsets":[{},{}]}})",
                        k == 0 ? "" : ",", k, k, k + 1);
    }
    return text + "}";
}

TEST(SafetensorsHeader, HasHundredsOfThousandsOfTensors) {
    constexpr std::int64_t many = 200'000;  // a reader of quadratic time would take minutes
    EXPECT_EQ(std::ssize(parse_header(header_with(many), many, "file").tensors), many);
}

TEST(SafetensorsHeader, HasAMaximumOfTensors) {
    const auto problem = problem_with(header_with(1'000'001), 1'000'001);
    EXPECT_NE(problem.find("more than 1000000 tensors"), std::string::npos) << problem.substr(0, 300);
}

TEST(FileTypes, ReadHalfPrecisionExactly) {
    EXPECT_EQ(float_of_half(0x3c00), 1.0f);
    EXPECT_EQ(float_of_half(0xc000), -2.0f);
    EXPECT_EQ(float_of_half(0x0001), 0x1p-24f);
    EXPECT_EQ(float_of_half(0x83ff), -0x3ffp-24f);
    EXPECT_EQ(float_of_half(0x7bff), 65504.0f);
    EXPECT_TRUE(std::isinf(float_of_half(0x7c00)));
    EXPECT_TRUE(std::isnan(float_of_half(0x7e01)));
    EXPECT_TRUE(std::signbit(float_of_half(0x8000)));
}

void write(const std::string& path, const std::string& bytes) {
    std::ofstream{path, std::ios::binary} << bytes;
}

std::string file_of(const std::string& header, const std::string& data) {
    const std::uint64_t length = header.size();
    std::string bytes(sizeof length, '\0');
    std::memcpy(bytes.data(), &length, sizeof length);
    return bytes + header + data;
}

/// Returns the tensors of a file, or the error.
std::string problem_with_file(const std::string& path) {
    try {
        SafetensorsFile{path};
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::checkpoint) << error.what();
        return error.what();
    }
    return "";
}

TEST(SafetensorsFile, ReadsBytesOfTensors) {
    const test::ScratchFolder folder;
    const auto path = folder.path() + "/model.safetensors";
    write(path, file_of(good, "abcdefghijklmnopqrstuvwxyz01"));
    const SafetensorsFile file{path};
    std::string read(5, '\0');
    file.read(file.tensors()[1], 7, std::as_writable_bytes(std::span{read}));
    EXPECT_EQ(read, "pqrst");
}

TEST(SafetensorsFile, RefusesLengthsThatDoNotFit) {
    const test::ScratchFolder folder;
    const auto path = folder.path() + "/model.safetensors";
    EXPECT_NE(problem_with_file(path).find("there is no such file"), std::string::npos);
    write(path, "1234567");
    EXPECT_NE(problem_with_file(path).find("it has 7 bytes"), std::string::npos);
    auto bytes = file_of(good, "");
    const std::uint64_t large = 100'000'001;
    std::memcpy(bytes.data(), &large, sizeof large);
    write(path, bytes);
    EXPECT_NE(problem_with_file(path).find("its header has 100000001 bytes, more than 100000000"),
              std::string::npos);
    const std::uint64_t longer = good.size() + 1;
    std::memcpy(bytes.data(), &longer, sizeof longer);
    write(path, bytes);
    EXPECT_NE(problem_with_file(path).find("its header has"), std::string::npos);
}

TEST(SafetensorsFile, SaysWhenItHasBecomeShorter) {
    const test::ScratchFolder folder;
    const auto path = folder.path() + "/model.safetensors";
    write(path, file_of(good, std::string(28, 'x')));
    const SafetensorsFile file{path};
    std::filesystem::resize_file(path, 8 + good.size() + 10);
    std::vector<std::byte> read(12);
    try {
        file.read(file.tensors()[1], 0, read);
        ADD_FAILURE();
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::checkpoint);
        EXPECT_NE(std::string{error.what()}.find("within b"), std::string::npos) << error.what();
    }
}

/// Returns the bytes with one byte, a range, a number in the header, or their count changed.
std::string mutated(std::string bytes, test::Draw& draw) {
    const auto position = [&] { return static_cast<std::size_t>(draw.between(0, std::ssize(bytes) - 1)); };
    for (auto times = draw.between(1, 3); times > 0 && !bytes.empty(); --times) {
        switch (draw.between(0, 6)) {
            case 0:
                bytes[position()] = static_cast<char>(draw.between(0, 255));
                break;
            case 1:
                bytes[position()] =
                    draw.one_of(std::vector<char>{'"', '{', '}', '[', ']', ',', ':', '0', '9', '-', '\\'});
                break;
            case 2:
                bytes.resize(position());
                break;
            case 3:
                bytes.insert(position(),
                             bytes.substr(position(), static_cast<std::size_t>(draw.between(1, 40))));
                break;
            case 4:
                bytes.erase(position(), static_cast<std::size_t>(draw.between(1, 40)));
                break;
            case 5: {
                const auto digit = bytes.find_first_of("0123456789", position());
                if (digit != std::string::npos) {
                    bytes.replace(digit, 1, std::to_string(draw.between(0, 300)));
                }
                break;
            }
            default: {  // the header stays complete, with any contents
                const std::uint64_t length =
                    static_cast<std::uint64_t>(draw.between(0, std::ssize(bytes) + 8));
                std::memcpy(bytes.data(), &length, std::min(bytes.size(), sizeof length));
            }
        }
    }
    return bytes;
}

/// For any bytes, a file is rejected, or each of its tensors is at its stated range without overlaps.
TEST(SafetensorsFile, TakesNoBrokenFile) {
    test::keep_scratch_in_memory();
    const test::ScratchFolder folder;
    const auto path = folder.path() + "/model.safetensors";
    const auto whole = file_of(good, "abcdefghijklmnopqrstuvwxyz01");
    test::Draw draw{32};
    int taken = 0;
    for (int round = 0; round < 10'000; ++round) {
        const auto bytes = mutated(whole, draw);
        write(path, bytes);
        try {
            const SafetensorsFile file{path};
            ++taken;
            std::uint64_t header = 0;
            std::memcpy(&header, bytes.data(), sizeof header);
            const auto data = static_cast<std::int64_t>(bytes.size() - 8 - header);
            std::int64_t end = 0;
            for (const auto& tensor : file.tensors()) {
                ASSERT_EQ(tensor.begin_bytes, end) << bytes;
                end = tensor.end_bytes;
                std::string read(static_cast<std::size_t>(tensor.end_bytes - tensor.begin_bytes), '\0');
                file.read(tensor, 0, std::as_writable_bytes(std::span{read}));
                ASSERT_EQ(read, bytes.substr(8 + header + static_cast<std::size_t>(tensor.begin_bytes),
                                             read.size()));
                const auto entry = bytes.find('"' + tensor.name + '"');
                ASSERT_TRUE(entry != std::string::npos || bytes.find('\\') != std::string::npos) << bytes;
            }
            ASSERT_EQ(end, data);
        } catch (const Error& error) {
            ASSERT_EQ(error.kind(), ErrorKind::checkpoint) << error.what();
        }
    }
    EXPECT_GT(taken, 100);  // mutations that only change data or names
    EXPECT_LT(taken, 6'000);
}

std::string one_tensor(const std::string& name) {
    return file_of(fmt::format(R"({{"{}":{{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}}})", name),
                   "data");
}

std::string problem_with_folder(const std::string& folder) {
    try {
        ModelFolder{folder};
    } catch (const Error& error) {
        return fmt::format("{}: {}", error.exit_code(), error.what());
    }
    return "";
}

TEST(ModelFolder, FindsTensorsByTheIndex) {
    const test::ScratchFolder folder;
    write(folder.path() + "/one.safetensors", one_tensor("a"));
    write(folder.path() + "/two.safetensors", one_tensor("b"));
    const auto index = folder.path() + "/" + index_name;
    write(index, index_text({{"a", "one.safetensors"}, {"b", "two.safetensors"}}, 8));
    const ModelFolder model{folder.path()};
    EXPECT_EQ(model.files()[model.tensors().at("b").file].path(), folder.path() + "/two.safetensors");

    const auto expect = [&](const std::string& text, const char* printed) {
        write(index, text);
        const auto problem = problem_with_folder(folder.path());
        EXPECT_TRUE(problem.starts_with("4: ") && problem.find(printed) != std::string::npos) << problem;
    };
    expect(index_text({{"a", "two.safetensors"}, {"b", "two.safetensors"}}, 8),
           "does not hold its tensor 'a'");
    write(index,
          index_text({{"a", "one.safetensors"}, {"b", "two.safetensors"}, {"c", "two.safetensors"}}, 8));
    EXPECT_NE(problem_with_folder(folder.path()).find("does not hold its tensor 'c'"), std::string::npos);
    EXPECT_EQ((ModelFolder{folder.path(), {"c", "d"}}).tensors().size(), 2u);
    expect(index_text({{"a", "one.safetensors"}, {"b", "gone.safetensors"}}, 8), "there is no such file");
    expect(index_text({{"a", "../one.safetensors"}}, 4), "is not a file name");
    expect("{\"weight_map\":{\"a\":1}}", "it is not an index");
    expect("[", "it is not an index");
    expect("{}", "it has no map weight_map");
    expect("{\"weight_map\":[]}", "it has no map weight_map");
    expect("{\"weight_map\":{\"a\":{\"b\":\"one.safetensors\"}}}", "the file of 'a' is not a text");
    expect("{\"weight_map\":{\"a\":\"one.safetensors\",\"a\":\"one.safetensors\"}}", "it has 'a' twice");
    expect("{\"metadata\":{\"weight_map\":{\"a\":1}}}", "it has no map weight_map");
    expect("{\"weight_map\":{},\"weight_map\":{}}", "two of weight_map");
    write(folder.path() + "/two.safetensors", one_tensor("a"));
    expect(index_text({{"a", "one.safetensors"}, {"b", "two.safetensors"}}, 8), "is in");
    std::filesystem::remove(index);
    write(folder.path() + "/pytorch_model.bin", "");
    EXPECT_NE(problem_with_folder(folder.path()).find("pickled"), std::string::npos);
    EXPECT_TRUE(problem_with_folder(folder.path() + "/none").starts_with("2: "));
}

}  // namespace
}  // namespace ziggurat::checkpoint::hf
