namespace SideBySide.Driver;

/// <summary>A figure that has a target.</summary>
/// <param name="Figure">Its name.</param>
/// <param name="Of">The contender whose figure it is.</param>
/// <param name="Against">
/// The contender whose figure it is divided by, round by round; null for the figure itself.
/// </param>
/// <param name="Quantity">What is compared.</param>
/// <param name="Bound">The target.</param>
internal sealed record Target(string Figure, string Of, string? Against, Func<Sample, double> Quantity, Bound Bound)
{
    /// <summary>The median of the rounds. Both contenders of a ratio are measured in the same round.</summary>
    public double Read(Func<string, IReadOnlyList<Sample>> samplesOf)
    {
        var figures = samplesOf(Of).Select(Quantity);
        if (Against is not null)
            figures = figures.Zip(samplesOf(Against).Select(Quantity), static (of, against) => of / against);
        return Sample.Middle(figures);
    }
}
