namespace FastCgi.AspNetCore.ParityTests.Observations;

/// <summary>One value that was seen, as text: of a property of the request, of a feature, or a header.</summary>
internal sealed record ObservedValue(string Name, string Value);
