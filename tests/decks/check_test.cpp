#include "app/deck/check.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "app/deck/gpu_forecast.hpp"
#include "deck/load.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/support/simulated_failures.hpp"

namespace ziggurat::app {
namespace {

/// Runs `run_check` in the folder with the text file of the bad decks, and keeps its output.
class Check : public ::testing::Test {
  protected:
    void SetUp() override {
        std::filesystem::current_path(std::filesystem::path{std::getenv("PROJECT_SOURCE_DIR")} /
                                      "tests/decks/bad");
        options_.deck = "parts/base.yaml";
        options_.overrides = {"deck_version=1"};
        parts_.size_job = [this](deck::LoadOptions load) {
            load.ranks = ranks_;
            load.threads = threads_;
            return load;
        };
    }

    int run() {
        ::testing::internal::CaptureStdout();
        ::testing::internal::CaptureStderr();
        const int code = run_check(options_, parts_);
        out_ = ::testing::internal::GetCapturedStdout();
        err_ = ::testing::internal::GetCapturedStderr();
        return code;
    }

    CheckOptions options_;
    CheckParts parts_;
    int ranks_ = 2;
    int threads_ = 0;  ///< equal share of the cores
    std::string out_;
    std::string err_;
};

TEST_F(Check, SaysWhatAGoodDeckMeans) {
    threads_ = 1;

    EXPECT_EQ(run(), 0);
    EXPECT_EQ(err_, "");
    EXPECT_EQ(
        out_,
        "model     gpt2, 2 layers, hidden 32, heads 2 (16 channels), mlp 128, vocab 256, embeddings tied\n"
        "size      34,176 parameters, 208.1kFLOP/token (6 (N - E) + 6 L C T), model state 600.8 KiB per "
        "rank\n"
        "batch     global 8 = micro 2 x accumulation 2 x data 2; 128 tokens a step, 1.28k tokens in 10 "
        "steps, 3.98 epochs\n"
        "layout    ranks 2 = tensor 1 x context 1 x data 2 x stages 1; 2 a node, 1 threads each; sharded "
        "over ranks: parameters 1, gradients 1, optimizer 1\n"
        "saves     400.5 KiB every 30min and at the end; keeps 2 (801.0 KiB)\n"
        "time      unknown: this machine does not give device_flops. Measure on that machine: mpirun "
        "-n 2 ziggurat bench all\n");
}

TEST_F(Check, NamesPretendedNodes) {
    threads_ = 1;
    options_.overrides.push_back("debug.nodes=2");

    EXPECT_EQ(run(), 0);
    EXPECT_NE(out_.find("; 2 a node, in all 2 emulated nodes, 1 threads each;"), std::string::npos) << out_;
}

TEST_F(Check, NamesTheSizesOfRingsInTwoLevels) {
    ranks_ = 4;
    threads_ = 1;
    options_.overrides.push_back("parallel.context.degree=4");
    options_.overrides.push_back("parallel.context.kind=ring");
    options_.overrides.push_back("debug.nodes=2");

    EXPECT_EQ(run(), 0) << err_;
    EXPECT_NE(out_.find("context groups across 2, data groups across 2; ring attention in rings of 2 within "
                        "and 2 between nodes\n"),
              std::string::npos)
        << out_;
}

TEST_F(Check, NamesHomesAwayFromTheDevice) {
    options_.overrides.push_back("tiers.home.optimizer=auto");
    parts_.choose_homes = [](const spec::RunSpec& run, const spec::MachineSpec&) {
        auto chosen = run;
        chosen.tiers.open = {};
        chosen.tiers.optimizer = {0.25, 0.75, 0};
        return chosen;
    };

    EXPECT_EQ(run(), 0);
    EXPECT_NE(out_.find("homes     parameters device, gradients device, optimizer {device: 25%, host: rest}, "
                        "activations device\n"),
              std::string::npos)
        << out_;
}

TEST_F(Check, NamesTheSecondCopy) {
    ranks_ = 4;
    options_.overrides = {"deck_version=1", "sharding.zero=3", "sharding.secondary=2"};

    EXPECT_EQ(run(), 0);
    EXPECT_NE(out_.find("optimizer 4, second copy 2\n"), std::string::npos) << out_;
}

TEST_F(Check, RefusesABadDeckWithCodeTwo) {
    options_.overrides.push_back("train.global_batch=7");

    EXPECT_EQ(run(), 2);
    EXPECT_EQ(out_, "");
    EXPECT_NE(err_.find("1 error, 0 warnings, 0 notes. Nothing was started."), std::string::npos) << err_;
}

TEST_F(Check, RefusesARunFolderThatCannotBeWritten) {
    options_.overrides.push_back("run.dir=parts/base.yaml/run");
    EXPECT_EQ(run(), 3);
    EXPECT_TRUE(err_.starts_with(
        "ziggurat: error: run.dir: 'parts/base.yaml/run' cannot be written (Not a directory). "
        "Set run.dir to a folder that you can write to.\n"))
        << err_;

    options_.overrides.back() = "run.dir=parts/base.yaml";
    EXPECT_EQ(run(), 3);
    EXPECT_NE(err_.find("parts/base.yaml' is not a folder)"), std::string::npos) << err_;

    options_.overrides.back() = "run.dir=no/such/folder";
    EXPECT_EQ(run(), 0);
    EXPECT_EQ(err_, "");
}

TEST_F(Check, GivesCodeThreeWhenAFolderForNvmeIsMissing) {
    options_.overrides.push_back("tiers.nvme={paths: [/no/such/folder]}");
    EXPECT_EQ(run(), 3);
    EXPECT_NE(err_.find("cannot use '/no/such/folder' (No such file or directory)"), std::string::npos)
        << err_;

    options_.overrides.push_back("train.global_batch=7");
    EXPECT_EQ(run(), 2) << "the deck is wrong as well";
}

TEST_F(Check, GivesCodeThreeWhenMemoryDoesNotFit) {
    parts_.memory = [](const deck::LoadedDeck& loaded, const deck::LoadOptions&) {
        plan::MemoryReport report;
        report.table = "heads " + std::to_string(loaded.run.model.heads) + "\n";
        return report;
    };

    EXPECT_EQ(run(), 3);
    EXPECT_TRUE(out_.ends_with("heads 2\n")) << out_;
}

TEST_F(Check, PrintsADeckThatLoads) {
    options_.print = true;

    EXPECT_EQ(run(), 0);
    EXPECT_TRUE(deck::load_text(out_, "printed.yaml", {}, {.ranks = 2}).ok()) << out_;
}

TEST_F(Check, ExplainsAKey) {
    options_.explain = "train.micro_batch";
    EXPECT_EQ(run(), 0);
    EXPECT_NE(out_.find("takes    a whole number of sequences"), std::string::npos) << out_;

    options_.explain = "train.microbatch";
    EXPECT_EQ(run(), 2);
    EXPECT_NE(err_.find("Did you mean 'train.micro_batch'?"), std::string::npos) << err_;
}

TEST_F(Check, TakesADescribedMachine) {
    options_.machine = "../../../decks/machines/cpu-64.yaml";
    options_.print = true;

    EXPECT_EQ(run(), 0);
    EXPECT_NE(out_.find("# auto: 64 cores / 2 ranks of a node"), std::string::npos) << out_;

    options_.machine = "./mine.yaml";
    EXPECT_EQ(run(), 2);
    EXPECT_NE(err_.find("ziggurat: error: ./mine.yaml: cannot read the machine file './mine.yaml'"),
              std::string::npos)
        << err_;
}

TEST_F(Check, SaysWhichMachinesThereAreAndWhichWasMeant) {
    std::filesystem::current_path(std::getenv("PROJECT_SOURCE_DIR"));
    options_.deck = "tests/decks/bad/parts/base.yaml";
    options_.machine = "dgx-h10";

    EXPECT_EQ(run(), 2);
    EXPECT_TRUE(err_.starts_with(
        "ziggurat: error: --machine: there is no machine 'dgx-h10' (there are cpu-64, dgx-2, dgx-a100, "
        "dgx-gb200, "
        "dgx-h100, dgx-h200, laptop, rtx-4090, rtx-4090-ssds, v100-32gb). Did you mean 'dgx-h100'? Name your "
        "own "
        "file by its path, such as ./mine.yaml.\n"))
        << err_;
}

using Json = nlohmann::json;

/// Adds the names of all values, in the form of decks/CHECK.md: `problems[].line`.
void add_names(const Json& json, const std::string& name, std::set<std::string>& names) {
    if (json.is_object()) {
        for (const auto& [key, value] : json.items()) {
            add_names(value, name.empty() ? key : name + "." + key, names);
        }
    } else if (json.is_array()) {
        for (const auto& value : json) {
            add_names(value, name + "[]", names);
        }
    } else {
        names.insert(name);
    }
}

/// Returns the names in the first column of the tables of decks/CHECK.md.
std::set<std::string> documented_names() {
    std::ifstream page{std::filesystem::path{std::getenv("PROJECT_SOURCE_DIR")} / "decks/CHECK.md"};
    std::set<std::string> names;
    for (std::string line; std::getline(page, line);) {
        if (line.starts_with("| `")) {
            names.insert(line.substr(3, line.find('`', 3) - 3));
        }
    }
    return names;
}

class CheckAsJson : public Check {
  protected:
    void SetUp() override {
        Check::SetUp();
        std::ofstream{folder_.file("rates.yaml")}
            << "machine_version: 1\nname: rates\nhas_device: false\nranks_per_node: 2\ncores_per_node: 4\n"
               "host_memory: 8GiB\ndevice_flops: 10G\n";
        options_.json = true;
        options_.machine = folder_.file("rates.yaml");
        parts_.memory = [](const deck::LoadedDeck& loaded, const deck::LoadOptions&) {
            return plan::memory_report(loaded.run, loaded.machine);
        };
    }

    Json json(int exit_code) {
        EXPECT_EQ(run(), exit_code) << out_ << err_;
        EXPECT_EQ(err_, "");
        const Json printed = Json::parse(out_);
        EXPECT_EQ(printed["exit_code"], exit_code);
        return printed;
    }

    test::ScratchFolder folder_;
};

TEST_F(CheckAsJson, SaysWhatTheTableSays) {
    const Json printed = json(0);

    EXPECT_EQ(printed["model"]["parameters"], 34176);
    EXPECT_EQ(printed["batch"]["tokens_per_step"], 128);
    EXPECT_EQ(printed["layout"]["data"], 2);
    EXPECT_EQ(printed["machine"], "rates");
    EXPECT_EQ(printed["layout"]["homes"]["optimizer"], "device");
    EXPECT_TRUE(printed["memory"]["fits"]);
    std::int64_t sum = 0;
    for (const auto& row : printed["memory"]["consumers"]) {
        sum += row["device_B"].get<std::int64_t>();
    }
    EXPECT_EQ(sum, printed["memory"]["rank_total"]["device_B"]) << "consumers add up";
    EXPECT_EQ(printed["checkpoint"]["bytes"], 34176 * 12);
    EXPECT_EQ(printed["checkpoint"]["bytes_kept"], 2 * 34176 * 12);
    const double step = printed["time"]["step_s"];
    EXPECT_GT(step, 128.0 / 2 * printed["model"]["flops_per_token"].get<double>() / 10e9 * 0.5)
        << "no faster than the rate";
    EXPECT_DOUBLE_EQ(printed["time"]["train_s"], step * 10);
    EXPECT_DOUBLE_EQ(printed["time"]["tokens_per_s"], 128 / step);
}

TEST_F(CheckAsJson, TellsTheTimeToPeopleToo) {
    options_.json = false;
    EXPECT_EQ(run(), 0);
    EXPECT_NE(out_.find("\ntime      estimated: a step takes "), std::string::npos) << out_;
    EXPECT_NE(out_.find(" at the rates of rates, all 10 steps take "), std::string::npos) << out_;
    EXPECT_NE(out_.find(", without checkpoints\n"), std::string::npos) << out_;
    EXPECT_NE(out_.find("\nspeed     "), std::string::npos) << out_;
    EXPECT_NE(out_.find(" TFLOP/s per rank, mfu "), std::string::npos) << out_;
}

/// Checks for a machine whose nodes fail. A save of the run writes 410 kB at 10 kB/s.
class CheckOfFailures : public CheckAsJson {
  protected:
    void SetUp() override {
        CheckAsJson::SetUp();
        options_.machine = folder_.file("failing.yaml");
        describe("checkpoint_rate: 10kB/s\n");
        options_.overrides.insert(options_.overrides.end(), {"checkpoint.async=false", "train.steps=100M"});
    }
    void describe(const std::string& more) {
        std::ofstream{folder_.file("failing.yaml")}
            << "machine_version: 1\nname: failing\nhas_device: false\nranks_per_node: 2\ncores_per_node: 4\n"
               "host_memory: 8GiB\ndevice_flops: 10G\nmean_time_to_failure: 3h\nrestart_time: 2s\n"
            << more;
    }
};

TEST_F(CheckOfFailures, HasTheShareAndTheIntervalOfSimulatedJobs) {
    EXPECT_EQ(run(), 0);
    const Json printed = Json::parse(out_);
    const Json goodput = printed["goodput"];
    EXPECT_EQ(goodput["nodes"], 1);
    EXPECT_NEAR(goodput["save_blocked_s"], 41, 0.1);
    EXPECT_EQ(goodput["save_background_s"], 0);
    EXPECT_NEAR(goodput["restart_s"], 2 + 41, 0.1);
    EXPECT_TRUE(goodput["price"].is_null());
    const plan::FailureTimes times{.between_failures = goodput["failure_s"],
                                   .restart = goodput["restart_s"],
                                   .blocked = goodput["save_blocked_s"],
                                   .written_in_background = goodput["save_background_s"]};
    const double blocked = times.blocked;
    const double share = goodput["productive"];
    const double work = goodput["interval_s"].get<double>() - blocked;
    EXPECT_NEAR(work + blocked, 1800, 1);
    EXPECT_NEAR(test::simulated_share(times, work), share, 0.01 * share);
    const double best = test::simulated_best_work(times, work / 2) + blocked;
    EXPECT_NEAR(goodput["best_interval_s"], best, 0.1 * best);
    EXPECT_EQ(goodput["best_every"], "16min");
    EXPECT_EQ(printed["warnings"], 1);

    describe("checkpoint_rate: 10kB/s\nprice_per_hour: 2.5\n");
    EXPECT_EQ(run(), 0);
    const Json priced = Json::parse(out_);
    EXPECT_NEAR(priced["goodput"]["price"], 2.5 / 3600 * priced["time"]["train_s"].get<double>() / share, 1);
}

TEST_F(CheckOfFailures, PrintsOneLineAndWarnsOfAnExpensiveInterval) {
    options_.json = false;
    EXPECT_EQ(run(), 0);
    EXPECT_NE(out_.find("% of the time is productive: a failure every 3h00min on 1 node; best "
                        "checkpoint.every is 16min (with the deck's 30min, the run takes 1.9"),
              std::string::npos)
        << out_;
    EXPECT_NE(err_.find("warning: checkpoint.every: with checkpoint.every = 30min, the run takes 1.9 "),
              std::string::npos)
        << err_;
    EXPECT_NE(err_.find("% longer than with the best interval (a failure every 3h00min on 1 node repeats the "
                        "steps since the last checkpoint). Set checkpoint.every to 16min."),
              std::string::npos)
        << err_;

    options_.overrides.push_back("checkpoint.every=2min");
    EXPECT_EQ(run(), 0);
    EXPECT_NE(err_.find("% longer than with the best interval (each save blocks training for 41"),
              std::string::npos)
        << err_;

    options_.overrides.back() = "checkpoint.every=16min";
    EXPECT_EQ(run(), 0);
    EXPECT_EQ(err_, "");
    EXPECT_NE(out_.find("16min, the run takes less than 0.1 % longer); "), std::string::npos) << out_;

    options_.overrides.back() = "checkpoint.every=10d";
    EXPECT_EQ(run(), 0);
    EXPECT_NE(err_.find("10d, the run takes over ten times longer than with"), std::string::npos) << err_;

    describe("");
    EXPECT_EQ(run(), 0);
    EXPECT_NE(out_.find("\ngoodput   unknown: failing gives neither checkpoint_rate nor nvme_read_rate and "
                        "nvme_write_rate\n"),
              std::string::npos)
        << out_;
    EXPECT_EQ(err_, "");
}

TEST_F(CheckAsJson, SaysHowOftenEachSourceIsGoneThrough) {
    const double tokens = 10 * 8 * 16;
    const auto held = static_cast<double>(std::filesystem::file_size("parts/text.txt"));
    options_.overrides.push_back("data.held_out=33%");
    EXPECT_EQ(json(0)["batch"]["epochs"], Json::array({tokens / (322 - 106)}))
        << "the last 106 of 322 tokens are not trained on";

    std::ofstream{folder_.file("two.txt")} << std::string(4000, 'a');
    options_.overrides.back() =
        "data.train=[{format: text, path: parts/text.txt, weight: 3}, {format: text, path: " +
        folder_.file("two.txt") + "}]";
    const Json both = json(0)["batch"]["epochs"];
    ASSERT_EQ(both.size(), 2u);
    EXPECT_DOUBLE_EQ(both[0], tokens * 0.75 / held);
    EXPECT_DOUBLE_EQ(both[1], tokens * 0.25 / 4000);

    options_.overrides.back() =
        "data.train=[{format: text, path: parts/text.txt, weight: [[0, 3], [4, 0]]}, {format: text, path: " +
        folder_.file("two.txt") + "}]";
    const Json changing = json(0)["batch"]["epochs"];
    EXPECT_DOUBLE_EQ(changing[0], tokens * 0.4 * 0.75 / held);
    EXPECT_DOUBLE_EQ(changing[1], tokens * (0.4 * 0.25 + 0.6) / 4000);

    options_.overrides.back() =
        "data.train[0].path=no/such/text.txt";  // a plan for a machine does not need the file
    options_.json = false;
    EXPECT_EQ(run(), 0);
    EXPECT_EQ(out_.find("epochs"), std::string::npos) << out_;
    options_.json = true;
    EXPECT_EQ(run(), 0);
    EXPECT_EQ(Json::parse(out_)["batch"]["epochs"], Json::array({nullptr}));
}

TEST(Epochs, AreToldOfEachSource) {
    EXPECT_EQ(epochs_text({}), "");
    EXPECT_EQ(epochs_text({std::nullopt, std::nullopt}), "");
    EXPECT_EQ(epochs_text({0.01234}), ", 0.0123 epochs");
    EXPECT_EQ(epochs_text({1.5, std::nullopt, 3.0}), ", epochs of data.train 1.5, unknown and 3");
}

TEST_F(CheckAsJson, SaysNothingOfTimeWithoutRates) {
    options_.machine = "../../../decks/machines/cpu-64.yaml";
    EXPECT_TRUE(json(0)["time"].is_null());
    options_.overrides.push_back("checkpoint.every=none");
    EXPECT_TRUE(json(0)["checkpoint"].is_null());
    options_.json = false;
    EXPECT_EQ(run(), 0);
    EXPECT_NE(
        out_.find(
            "\ntime      unknown: cpu-64 does not give device_flops. Measure on that machine: mpirun -n 2 "
            "ziggurat bench all\n"),
        std::string::npos)
        << out_;
}

TEST_F(CheckAsJson, SaysWhatIsWrongAndWhere) {
    options_.overrides.push_back("train.global_batch=7");
    options_.overrides.push_back("run.name=\x1b[31m\xff");
    const Json printed = json(2);

    EXPECT_EQ(printed["errors"], printed["problems"].size());
    EXPECT_FALSE(printed.contains("memory"));
    bool is_reported = false;
    for (const auto& problem : printed["problems"]) {
        is_reported = is_reported || (problem["severity"] == "error" && problem["file"] == "command line" &&
                                      problem["line"] == 2 && problem["column"] == 20);
        EXPECT_EQ(problem["text"].get<std::string>().find('\x1b'), std::string::npos);
    }
    EXPECT_TRUE(is_reported) << out_;

    options_.machine = "no-such-machine";
    EXPECT_EQ(json(2)["problems"][0]["file"], "--machine");
    options_.machine.clear();
    options_.deck = "no/such/deck.yaml";
    EXPECT_TRUE(json(2)["problems"][0]["line"].is_null());
}

class CheckOfGpus : public CheckAsJson {
  protected:
    void SetUp() override {
        CheckAsJson::SetUp();
        options_.machine = folder_.file("gpus.yaml");
        options_.overrides = {"deck_version=1", "precision=bf16", "tiers.device.kind=cuda"};
        describe_gpus(132);
    }
    void describe_gpus(int multiprocessors) {
        std::ofstream{folder_.file("gpus.yaml")}
            << "machine_version: 1\nname: gpus\nranks_per_node: 2\ncores_per_node: 4\nhost_memory: 8GiB\n"
               "device_memory: 8GiB\ndevice_compute_capability: 8.9\ndevice_multiprocessors: "
            << multiprocessors << "\n";
    }
};

TEST_F(CheckOfGpus, NamesTheKernelOfAttentionAndWhyItIsNoFasterOne) {
    const Json attention = json(0)["attention"];
    EXPECT_EQ(attention["kernel"], "tensor_cores");
    EXPECT_NE(attention["reason"].get<std::string>().find("whole tiles of 128 tokens"), std::string::npos);
    EXPECT_EQ(attention["compute_capability"], 8.9);
    EXPECT_FALSE(attention["is_capability_assumed"]);

    options_.overrides.push_back("model.dropout=0.1");
    options_.json = false;
    EXPECT_EQ(run(), 0);
    EXPECT_NE(out_.find("\nattention Ziggurat's kernels without tensor cores: cuDNN and tensor cores need "
                        "model.dropout: 0; compute capability 8.9\n"),
              std::string::npos)
        << out_;
    options_.print = true;
    EXPECT_EQ(run(), 0);
    EXPECT_NE(err_.find("attention Ziggurat's kernels without"), std::string::npos) << err_;
}

TEST(ForecastOfAttention, NamesTheKernelOfLayersWithAWindow) {
    spec::RunSpec run;
    run.model.family = "mistral";
    run.model.layers = 4;
    run.model.heads = run.model.kv_heads = 4;
    run.model.head_dim = 64;
    run.data.seq = 256;
    run.tiers.device = spec::DeviceKind::cuda;
    run.precision.compute = spec::DType::bf16;
    const auto forecast = [&](std::int64_t window, std::int64_t interval) {
        run.model.window = window;
        run.model.full_attention_interval = interval;
        return *forecast_attention(run, {}, {});
    };
    using enum layout::AttentionKernel;

    EXPECT_EQ(forecast(256, 0).kernel, cudnn) << "no sequence reaches the window";
    const auto all = forecast(255, 0);
    EXPECT_EQ(all.kernel, tensor_cores);
    EXPECT_EQ(all.reason, "cuDNN needs layers without model.window");
    EXPECT_EQ(all.windowed_layers, 0);
    const auto some = forecast(255, 4);
    EXPECT_EQ(some.kernel, cudnn);
    EXPECT_EQ(some.windowed_layers, 3);
    EXPECT_EQ(some.windowed_kernel, tensor_cores);
    EXPECT_EQ(attention_line(some),
              "attention cuDNN; 3 layers with a window use Ziggurat's kernels on tensor cores: cuDNN needs "
              "layers without model.window; compute capability 9.0 (assumed), cuDNN is assumed to be "
              "installed\n");
}

TEST_F(CheckOfGpus, RefusesCommunicatorsThatDoNotFitTogether) {
    const Json fits = json(0)["nccl"];
    EXPECT_EQ(fits["blocks"], 16);
    EXPECT_EQ(fits["multiprocessors"], 132);
    describe_gpus(15);
    const Json printed = json(3);
    ASSERT_EQ(printed["errors"], 1);
    const auto text = printed["problems"][0]["text"].get<std::string>();
    EXPECT_NE(text.find("16 thread blocks at once"), std::string::npos) << text;
    EXPECT_NE(text.find("NCCL_MAX_CTAS=15"), std::string::npos) << text;

    ::setenv("NCCL_MAX_CTAS", "4", 1);
    EXPECT_EQ(json(0)["nccl"]["blocks"], 4);
    ::unsetenv("NCCL_MAX_CTAS");
}

TEST_F(CheckAsJson, HasTheFieldsThatThePageTells) {
    std::set<std::string> names;
    add_names(json(0), "", names);
    options_.overrides = {"deck_version=1", "tiers.device=1MiB"};
    add_names(json(3), "", names);
    options_.overrides = {"deck_version=1", "train.global_batch=7"};
    add_names(json(2), "", names);
    options_.overrides = {"deck_version=1", "checkpoint.every=none"};
    options_.machine = "../../../decks/machines/cpu-64.yaml";
    add_names(json(0), "", names);
    options_.overrides = {"deck_version=1", "precision=bf16", "tiers.device.kind=cuda"};
    options_.machine = "../../../decks/machines/dgx-h100.yaml";
    const auto of_failures = json(0);
    EXPECT_EQ(of_failures["goodput"]["nodes"], 1);
    add_names(of_failures, "", names);
    options_.overrides = {"deck_version=1", "data.tokenizer=none", "model.vocab=100", "data.seq=16",
                          "data.train=[{format: chat, path: ../bad/parts/chats.samples}]"};
    options_.machine.clear();
    add_names(json(0), "", names);
    options_.overrides = {
        "deck_version=1",           "data.tokenizer=none",
        "model.vocab=100",          "data.seq=32",
        "train.objective.kind=dpo", "data.train=[{format: chat, path: ../bad/parts/pairs.samples}]"};
    const auto of_pairs = json(0);
    EXPECT_EQ(of_pairs["objective"]["reference"], "start");
    EXPECT_EQ(of_pairs["packing"][0]["pairs"], true);
    add_names(of_pairs, "", names);

    EXPECT_EQ(names, documented_names());
}

}  // namespace
}  // namespace ziggurat::app
