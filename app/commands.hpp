/// Commands of the program, one file each. Each returns the exit code of the process.
#pragma once

#include "app/command_line/cli.hpp"

namespace ziggurat::app {

/// Prints the errors of a deck, or its meaning and its memory. Never starts MPI.
int check(const Arguments& arguments);

/// Prints planned memory and time of a run, or the step program of a rank. Never starts MPI.
int plan(const Arguments& arguments);

/// Prints a batch script that trains a deck under Slurm. Never starts MPI.
int slurm(const Arguments& arguments);

/// Trains. Collective: over all ranks that the launcher started; one rank without a launcher
int train(const Arguments& arguments);

/// Lists, checks and compares checkpoints. Never starts MPI.
int inspect(const Arguments& arguments);

/// Prints a text that a checkpoint's model generates. Collective: as train()
int sample(const Arguments& arguments);

/// Prints the loss of a checkpoint's model, or its multiple-choice accuracy. Collective: as train()
int eval(const Arguments& arguments);

/// Writes a checkpoint and a deck from a model in the Hugging Face format. Never starts MPI.
int import_model(const Arguments& arguments);

/// Writes a model in the Hugging Face format from a checkpoint. Never starts MPI.
int export_model(const Arguments& arguments);

/// Writes token files from texts. Never starts MPI.
int tokenize(const Arguments& arguments);

/// Plots the metrics of runs. Never starts MPI.
int plot(const Arguments& arguments);

/// Writes an HTML page with the metrics of runs. Never starts MPI.
int report(const Arguments& arguments);

/// Shows the metrics of a running training, updated every second. Never starts MPI.
int top(const Arguments& arguments);

/// Checks machine, launch and folders. Starts MPI only with --mpi.
/// Collective: with --mpi as train()
int doctor(const Arguments& arguments);

/// Measure disks or GPUs and store the rates in the machine file. Never start MPI.
int bench_io(const Arguments& arguments);
int bench_gpu(const Arguments& arguments);

}  // namespace ziggurat::app
