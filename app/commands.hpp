/// The commands of the program, one file each. Each returns the exit code of the process.
#pragma once

#include "app/cli.hpp"

namespace ziggurat::app {

/// Complains about a deck, or shows what it means and how much memory it takes. Never starts MPI.
int check(const Arguments& arguments);

/// Prints the step program of a rank. Never starts MPI.
int plan(const Arguments& arguments);

/// Prints a batch script that trains a deck under Slurm. Never starts MPI.
int slurm(const Arguments& arguments);

/// Trains. Collective: over all ranks that the launcher started; alone without one
int train(const Arguments& arguments);

/// Lists, checks and compares checkpoints. Never starts MPI.
int inspect(const Arguments& arguments);

/// Prints a text that a checkpoint's model goes on with. Collective: as train()
int sample(const Arguments& arguments);

/// Prints the loss of a checkpoint's model on a file, or how well it chooses in tasks. Collective: as train()
int eval(const Arguments& arguments);

/// Writes a checkpoint and a deck from a model in the Hugging Face format. Never starts MPI.
int import_model(const Arguments& arguments);

/// Writes a model in the Hugging Face format from a checkpoint. Never starts MPI.
int export_model(const Arguments& arguments);

/// Writes token files of texts. Never starts MPI.
int tokenize(const Arguments& arguments);

/// Draws what runs have told. Never starts MPI.
int plot(const Arguments& arguments);

/// Writes an HTML page of what runs have told. Never starts MPI.
int report(const Arguments& arguments);

/// Shows what a run tells while it goes on. Never starts MPI.
int top(const Arguments& arguments);

/// Says whether this machine, launch and folders are fit to train on. Starts MPI with --mpi alone.
/// Collective: with --mpi as train()
int doctor(const Arguments& arguments);

/// Measures disks and keeps what it finds for decks. Never starts MPI.
int bench_io(const Arguments& arguments);
int bench_gpu(const Arguments& arguments);

}  // namespace ziggurat::app
