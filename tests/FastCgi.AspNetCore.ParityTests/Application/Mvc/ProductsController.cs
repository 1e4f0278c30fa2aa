namespace FastCgi.AspNetCore.ParityTests.Application.Mvc;

/// <summary>An API of MVC: formatters, content negotiation, model errors as problem details, limits.</summary>
[ApiController]
[Route("products")]
[Produces("application/json", "text/plain")]
public sealed class ProductsController : ControllerBase
{
    [HttpGet("{id:int}")]
    [HttpHead("{id:int}")]
    public ActionResult<Product> Get(int id) => id > 100 ? NotFound() : new Product($"product {id}", id * 1.5m);

    [HttpGet("text")]
    public string GetText() => "a text";

    [HttpGet("search")]
    public IActionResult Search(
        [FromQuery] int page, [FromQuery] List<string> tags, [FromHeader(Name = "X-Filter")] string? filter)
        => Ok(new { page, tags, filter });

    [HttpPost("")]
    public ActionResult<Product> Create(Product product) => CreatedAtAction(nameof(Get), new { id = 7 }, product);

    [HttpPut("{id:int}")]
    [RequestSizeLimit(200)]
    public IActionResult Replace(int id, [FromBody] Product product) => Ok(new { id, product.Name });

    [HttpDelete("{id:int}")]
    public IActionResult Delete(int id) => id == 0 ? BadRequest() : NoContent();
}

/// <summary>Something for sale.</summary>
public sealed record Product([Required, MaxLength(20)] string Name, [Range(0, 1000)] decimal Price);
