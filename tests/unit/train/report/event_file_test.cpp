#include "train/report/event_file.hpp"

#include <gtest/gtest.h>

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <filesystem>
#include <vector>

#include "tests/support/scratch_folder.hpp"

namespace ziggurat::train {
namespace {

namespace fs = std::filesystem;

std::string hex(std::string_view bytes) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    for (const char byte : bytes) {
        text += digits[static_cast<unsigned char>(byte) >> 4];
        text += digits[static_cast<unsigned char>(byte) & 15];
    }
    return text;
}

std::vector<std::string> names_in(const std::string& folder) {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator{folder}) {
        names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
}

StepReport report_of(std::int64_t step) {
    StepReport report;
    report.step = step;
    report.step_s = 1;
    return report;
}

TEST(EventRecords, ChecksumIsThatOfRecordFiles) {
    EXPECT_EQ(masked_crc32c("123456789"), 0xC78AB0E5U);
}

TEST(EventRecords, AreTheBytesOfTensorBoard) {
    EXPECT_EQ(hex(version_record(1700000000.0)),
              "1800000000000000a37f4b220900000040fc54d9411a0d627261696e2e4576656e743a32eced8f9d");
    EXPECT_EQ(hex(scalars_record(1700000000.0, 7, std::array{Scalar{"loss", 2.5}})),
              "1a00000000000000129bd82d0900000040fc54d94110072a0d0a0b0a046c6f737315000020402d15b4a5");
}

TEST(EventRecords, LongNumbersTakeMoreBytes) {
    // The step as a varint of 7 bits per byte, lowest first: 300 = 2 * 128 + 44.
    EXPECT_NE(hex(scalars_record(0, 300, {})).find("10ac02"), std::string::npos);
    EXPECT_NE(hex(restart_record(0, 299)).find("10ac023a020801"), std::string::npos);
}

TEST(EventFile, IsNamedBehindThoseThatAreThere) {
    const test::ScratchFolder run;
    const auto folder = run.file(events_folder);
    fs::create_directories(folder);
    std::ofstream{folder + "/events.out.tfevents.9000000000.elsewhere.1.0"} << "of a clock that goes ahead";
    EventFile events{run.path(), {}, {}, {}};

    const auto names = names_in(folder);
    ASSERT_EQ(names.size(), 2U);
    EXPECT_TRUE(names.back().starts_with("events.out.tfevents.9000000001.")) << names.back();
}

TEST(EventFile, HasACurveForEachNormOfAUnit) {
    const test::ScratchFolder run;
    EventFile events{run.path(), {}, {}, {}};
    events.norms(
        10, std::vector<UnitNorms>{{.unit = "layer.03", .gradient = 1.5, .weights = 2.5, .update = 0.5}});

    const auto text =
        test::contents_of(run.file(events_folder) + "/" + names_in(run.file(events_folder)).front());
    for (const char* tag : {"norms/gradient/layer.03", "norms/weights/layer.03", "norms/update/layer.03"}) {
        EXPECT_NE(text.find(tag), std::string::npos) << tag;
    }
    using namespace std::string_literals;
    EXPECT_NE(text.find("norms/gradient/layer.03\x15\0\0\xc0\x3f"s), std::string::npos) << "1.5 as a float";
}

TEST(EventFile, LeavesOutWhatIsNotThere) {
    const test::ScratchFolder run;
    RunFacts facts;
    facts.fields.nvme = false;
    EventFile events{run.path(), {}, facts, {}};
    events.step(report_of(1));
    events.validate({.step = 1});

    const auto text =
        test::contents_of(run.file(events_folder) + "/" + names_in(run.file(events_folder)).front());
    EXPECT_NE(text.find("memory/host_gib"), std::string::npos);
    for (const char* tag : {"memory/nvme_gib", "perf/mfu", "loss/train", "loss/validation"}) {
        EXPECT_EQ(text.find(tag), std::string::npos) << tag;
    }
}

/// Limits the size of files of this process, as on a full disk.
class LargestFile {
  public:
    explicit LargestFile(rlim_t bytes) : handler_{std::signal(SIGXFSZ, SIG_IGN)} {
        ::getrlimit(RLIMIT_FSIZE, &before_);
        const rlimit now{bytes, before_.rlim_max};
        ::setrlimit(RLIMIT_FSIZE, &now);
    }
    ~LargestFile() {
        ::setrlimit(RLIMIT_FSIZE, &before_);
        std::signal(SIGXFSZ, handler_);
    }
    LargestFile(const LargestFile&) = delete;
    LargestFile& operator=(const LargestFile&) = delete;

  private:
    void (*handler_)(int);
    rlimit before_{};
};

TEST(EventFile, AFullDiskIsToldOnceAndEndsNothing) {
    const test::ScratchFolder run;
    std::vector<std::string> warnings;
    EventFile events{
        run.path(), {}, {}, [&](Severity, std::string_view text) { warnings.emplace_back(text); }};
    {
        const LargestFile one_record{100};
        events.step(report_of(1));
        events.step(report_of(2));
    }

    ASSERT_EQ(warnings.size(), 1U);
    EXPECT_NE(warnings[0].find("events.out.tfevents."), std::string::npos) << warnings[0];
    EXPECT_NE(warnings[0].find("Training continues"), std::string::npos) << warnings[0];
}

}  // namespace
}  // namespace ziggurat::train
