namespace FastCgi.AspNetCore.ParityTests.Observations;

/// <summary>An observed value, as text: of a request property, a feature, or a header.</summary>
internal sealed record ObservedValue(string Name, string Value);
