namespace FastCgi.AspNetCore.ParityTests.Comparison;

/// <summary>
/// A test that sends the same requests to every site and compares the results: responses are compared with those of
/// Kestrel, behind the same web server if there is one; the application's observations, with those on Kestrel alone.
/// </summary>
[Collection(nameof(ParitySites))]
public abstract class ParityTest(ParitySites sites)
{
    private protected Task CompareAsync(Func<Conversation, Task> converse)
        => CompareAsync(converse, usesTls: false, sendsCertificate: false);

    private protected async Task CompareAsync(
        Func<Conversation, Task> converse, bool usesTls, bool sendsCertificate = false)
    {
        var tls = usesTls ? sites.Certificates.CreateClientOptions(sendsCertificate) : null;
        var conversations = sites.All.ToDictionary(site => site.Kind, site => new Conversation(site, tls));
        try
        {
            await Task.WhenAll(conversations.Values.Select(converse));
            var differences = SiteComparison.Compare(
                conversations.ToDictionary(pair => pair.Key, pair => pair.Value.Exchanges));
            Assert.True(differences.Count == 0, string.Join('\n', differences));
        }
        finally
        {
            foreach (var conversation in conversations.Values)
                conversation.Dispose();
        }
    }
}
