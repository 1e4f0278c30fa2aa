using System.Globalization;
using BenchmarkDotNet.Running;
using FastCgi.AspNetCore.Benchmarks;

// --allocated get | post prints the bytes that a request allocates, in a moment; everything else is BenchmarkDotNet's.
if (args is ["--allocated", var request])
    Console.WriteLine(
        RequestBenchmark.CountAllocated(isPost: request == "post").ToString("0.0", CultureInfo.InvariantCulture));
else
    BenchmarkSwitcher.FromAssembly(typeof(Program).Assembly).Run(args);
